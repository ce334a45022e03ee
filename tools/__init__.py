"""Tools for a source checkout: index of equations, speed page, adversaries of inequalities. Not in the wheel."""
