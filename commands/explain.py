"""The command `explain` of helioc and helioctl."""

from __future__ import annotations

import click


@click.command()
@click.argument("code", required=False)
def explain(code: str | None) -> None:
    """Tell what an error code means, with an example and its fix."""
    from ..lang.text import errors

    if code is None:
        for known, title in errors.titles():
            click.echo(f"{known}  {title}")
        return
    click.echo(errors.explanation(code).render(code.upper()), nl=False)
