"""The pages: routes, forms and what they show."""
