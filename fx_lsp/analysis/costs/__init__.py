"""What models cost, and what they should cost: counts by the agent, kept while nothing is being traced."""
