"""A log sent to a server that speaks OpenAI's protocol: what its cache serves, and how fast it answers."""
