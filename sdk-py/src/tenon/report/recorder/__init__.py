"""What runs in the process of the program."""
