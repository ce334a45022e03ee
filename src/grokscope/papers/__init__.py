"""The papers: experiments, rules, equations, audit and figures of each. The instrument never imports them."""
