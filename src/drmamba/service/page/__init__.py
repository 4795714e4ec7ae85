"""The web page: Gradio components around the pages that a browser has open. It loads nothing from other machines."""
