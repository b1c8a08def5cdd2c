"""Reading frames of any library, column by column."""
