"""What each kernel version has, as tables and questions to them."""
