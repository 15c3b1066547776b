"""How a client is let in: what `security.protocol`, `ssl.*` and `sasl.*` say, TLS, and the exchanges of SASL."""
