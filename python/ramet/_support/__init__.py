"""What every part of the package may use, and what uses none of them."""
