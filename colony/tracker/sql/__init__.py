"""The store under the embedded tracker: one schema, SQL in files."""
