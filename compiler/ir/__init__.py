"""The intermediate representation: what programs do, as data, between the model and C."""
