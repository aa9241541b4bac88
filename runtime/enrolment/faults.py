"""What can go wrong with enrolment: one function for each code, H0870 to H0877, and H0880."""

from __future__ import annotations

from ...lang.text.diagnostics import Diagnostic
from ...lang.text.explain import Explanation

_ANEW = "have a new one made: `controller token create EDGE`"


def bad_token(why: str) -> Diagnostic:
    return Diagnostic("H0870", f"this is no token: {why}", (),
                      "take it as `controller token create EDGE` prints it")  # fmt: skip


def other_authority(controller: str) -> Diagnostic:
    title = f"`{controller}` is not the controller that the token is of"
    return Diagnostic("H0871", title, (), "its authority is another: ask whom you have the token "
                      "from where the controller is; nothing was sent")  # fmt: skip


def token_refused(why: str) -> Diagnostic:
    return Diagnostic("H0872", f"the token is not accepted: {why}", (), _ANEW)


def bad_request(why: str, help_: str = "send a PKCS #10 request, as `helioctl enrol` does") -> (
    Diagnostic
):  # fmt: skip
    return Diagnostic("H0873", f"the request for a certificate is refused: {why}", (), help_)


def no_controller(controller: str, why: str) -> Diagnostic:
    return Diagnostic("H0874", f"no controller answers at `{controller}`: {why}", (),
                      "does it run, with `--listen`, and has its certificate this name or address "
                      "(`controller init --host`)?")  # fmt: skip


def enrolled_already(name: str, controller: str) -> Diagnostic:
    title = f"this edge is enrolled already, as `{name}` with `{controller}`"
    return Diagnostic("H0875", title, (), "`--replace` takes another identity in its place")


def not_an_edge(why: str) -> Diagnostic:
    return Diagnostic("H0876", f"who asks is no edge of this fleet: {why}", (),
                      "enrol it (anew): `helioctl enrol`")  # fmt: skip


def removed(edge: str) -> Diagnostic:
    return Diagnostic("H0880", f"the edge `{edge}` was removed: who has its key is not asked", (),
                      "if it is to be one again, enrol it with a new token")  # fmt: skip


def no_certificate(edge: str) -> Diagnostic:
    return Diagnostic("H0880", f"the edge `{edge}` has no certificate that is good", (),
                      "enrol it anew, with `--replace`")  # fmt: skip


def bad_answer(controller: str, why: str) -> Diagnostic:
    return Diagnostic("H0877", f"`{controller}` answers what cannot be used: {why}", (),
                      "is it Helio's controller that listens there?")  # fmt: skip


ENROLMENT: dict[str, Explanation] = {
    "H0870": Explanation(
        "a token that is none",
        "A token is EDGE:SECRET:HASH: the edge's name, what proves that it may enrol, and the "
        "SHA-256 of the controller's authority, by which the edge knows to whom it speaks. It was "
        "cut off, or changed on its way.",
    ),
    "H0871": Explanation(
        "another controller than the token's",
        "The token has the hash of the authority by which the controller's certificate is signed. "
        "Who answers has another one: the address is wrong, the controller was set up anew, or "
        "somebody stands between. The token's secret was not sent.",
    ),
    "H0872": Explanation(
        "a token that is not accepted",
        "A token is for one edge, for a while (an hour, or `--lifetime`), and for one key: whoever "
        "comes first has it. An edge that was interrupted may come again with the same token and "
        "the key that it had made.",
    ),
    "H0873": Explanation(
        "a request for a certificate that cannot be granted",
        "An edge asks for the name that its token is for, with a key of its own on the curve "
        "P-256 (PKCS #10, RFC 2986), signed by that key. What else the request says of names is "
        "not looked at: the controller knows them.",
    ),
    "H0874": Explanation(
        "no controller answers",
        "Enrolment is EST (RFC 7030): HTTPS at the address that the controller listens at. After "
        "the authority is known to be the token's, the controller's certificate must be by it and "
        "have the name or address that was asked for.",
    ),
    "H0875": Explanation(
        "an edge that is enrolled already",
        "Its certificate is renewed by `heliod`; no second enrolment is needed. For another "
        "controller, or another name, `--replace` puts a new identity in its place once it has "
        "been granted. An identity whose certificate has run out needs it, too.",
    ),
    "H0876": Explanation(
        "not an edge of this fleet",
        "Renewals and announcements are for edges that have enrolled, with the key that they have "
        "enrolled with. The edge was removed, or has enrolled anew with another key.",
    ),
    "H0880": Explanation(
        "an edge that is not to be believed",
        "A controller knows edges that have enrolled with it by their own certificates, and speaks "
        "to nobody else in their name. This edge was removed, or its certificates have run out; "
        "the key that it had may be somebody else's by now.",
    ),
    "H0877": Explanation(
        "an answer that cannot be used",
        "What came is not what EST (RFC 7030) says, not by the token's authority, or for another "
        "key. It was not stored.",
    ),
}
