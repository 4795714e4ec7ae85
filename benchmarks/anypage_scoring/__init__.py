"""How binarizers are judged on made pages: methods, scores, character errors and the table."""
