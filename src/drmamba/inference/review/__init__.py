"""Pages before and after, for the eyes of a person: the viewer and the review file."""
