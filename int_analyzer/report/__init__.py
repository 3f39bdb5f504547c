"""What a summary becomes: a terminal report, a JSON document, graph files and a picture."""
