"""What privacy costs: events, plans, terms, the ledger, budgets, and the exact laws behind them."""
