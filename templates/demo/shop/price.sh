#!/bin/sh
# Prints what COUNT pieces cost at CENTS each: price.sh COUNT CENTS
echo "$(($1 * $2)) cents"
