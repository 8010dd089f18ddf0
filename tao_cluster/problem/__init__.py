"""What a fit minimises: objectives, penalties, criteria and the one frozen problem."""
