"""The search for the values of free parameters that meet the observations best."""
