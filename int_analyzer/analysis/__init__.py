"""From what a state knows to what is wrong and where: `summarise.summarise(view, profile, capture)` gives a `summary.Summary`."""
