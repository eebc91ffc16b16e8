"""Every sentence Colony writes into a ticket, one module an occasion."""
