"""The site: static pages of findings, notebooks, claims, figures and numbers, made from committed results alone."""
