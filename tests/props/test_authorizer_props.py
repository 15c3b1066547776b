"""The authorizer beside the rules as they are written down: each entry is looked at, each time, and nothing is kept."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given, settings
from hypothesis import strategies as st

from leaselog.broker.security.authorizer import AclAuthorizer
from leaselog.model import (
    AclBinding,
    AclOperation,
    AclPermission,
    AclResourceType,
    PatternType,
    Principal,
)

O, R = AclOperation, AclResourceType  # noqa: E741

IMPLIES = {
    O.DESCRIBE: {O.DESCRIBE, O.READ, O.WRITE, O.DELETE, O.ALTER},
    O.DESCRIBE_CONFIGS: {O.DESCRIBE_CONFIGS, O.ALTER_CONFIGS},
}

NAMES = ("a", "ab", "abc", "b", "*")
USERS = ("alice", "bob", "*")
HOSTS = ("10.0.0.1", "10.0.0.2", "*")
TYPES = (R.TOPIC, R.GROUP)

bindings = st.builds(
    AclBinding,
    resource_type=st.sampled_from(TYPES),
    resource_name=st.sampled_from(NAMES),
    principal=st.sampled_from([f"User:{name}" for name in USERS]),
    operation=st.sampled_from(
        (O.ALL, O.READ, O.WRITE, O.DELETE, O.ALTER, O.DESCRIBE, O.DESCRIBE_CONFIGS, O.ALTER_CONFIGS)
    ),
    permission=st.sampled_from((AclPermission.ALLOW, AclPermission.ALLOW, AclPermission.DENY)),
    pattern_type=st.sampled_from((PatternType.LITERAL, PatternType.PREFIXED)),
    host=st.sampled_from(HOSTS),
)
#: added, and removed if it was there
histories = st.lists(bindings, max_size=25)
principals = st.sampled_from(USERS[:2]).map(lambda name: Principal("User", name))
operations = st.sampled_from((O.READ, O.WRITE, O.DESCRIBE, O.DESCRIBE_CONFIGS, O.CREATE))


def fits(acl: AclBinding, name: str) -> bool:
    if acl.pattern_type is PatternType.PREFIXED:
        return name.startswith(acl.resource_name)
    return acl.resource_name in (name, "*")


def concerns(acl: AclBinding, principal: Principal, host: str) -> bool:
    return acl.principal in (str(principal), "User:*") and acl.host in (host, "*")


def by_the_rules(
    acls: Iterable[AclBinding],
    principal: Principal,
    host: str,
    operation: AclOperation,
    resource: AclResourceType,
    name: str,
    *,
    by_default: bool,
) -> bool:
    about = [acl for acl in acls if acl.resource_type is resource and fits(acl, name)]
    if not about:
        return by_default
    mine = [acl for acl in about if concerns(acl, principal, host)]
    if any(acl.permission is AclPermission.DENY and acl.operation in (operation, O.ALL) for acl in mine):
        return False
    enough = IMPLIES.get(operation, {operation}) | {O.ALL}
    return any(acl.permission is AclPermission.ALLOW and acl.operation in enough for acl in mine)


def play(history: Iterable[AclBinding], authorizer: AclAuthorizer) -> set[AclBinding]:
    """Each entry comes, or goes if it is there already."""
    there: set[AclBinding] = set()
    for acl in history:
        is_there = acl in there
        authorizer.changed([] if is_there else [acl], [acl] if is_there else [])
        there ^= {acl}
    return there


@settings(deadline=None)
@given(
    history=histories,
    principal=principals,
    host=st.sampled_from(HOSTS[:2]),
    operation=operations,
    resource=st.sampled_from(TYPES),
    name=st.sampled_from(NAMES[:4]),
    by_default=st.booleans(),
)
def test_a_decision_is_what_the_rules_say_of_each_entry(
    history: list[AclBinding],
    principal: Principal,
    host: str,
    operation: AclOperation,
    resource: AclResourceType,
    name: str,
    by_default: bool,
) -> None:
    authorizer = AclAuthorizer(allows_by_default=by_default)
    question = (principal, host, operation, resource, name)
    assert authorizer.allows(*question) is by_default  # and is kept, until something changes
    there = play(history, authorizer)
    expected = by_the_rules(there, *question, by_default=by_default)
    assert authorizer.allows(*question) is expected
    assert authorizer.allows(*question) is expected, "also when it was kept"


@settings(deadline=None)
@given(history=histories, principal=principals, host=st.sampled_from(HOSTS[:2]), operation=operations)
def test_some_resource_is_allowed_if_one_that_an_entry_allows_is(
    history: list[AclBinding], principal: Principal, host: str, operation: AclOperation
) -> None:
    """Sound where it matters: whoever is told yes has an entry of that very operation that allows it."""
    authorizer = AclAuthorizer()
    there = play(history, authorizer)
    told = authorizer.allows_some(principal, host, operation, R.TOPIC)
    #: what entries name, and more than any of them names, to find what a denied prefix leaves of another
    names = {acl.resource_name.replace("*", "z") for acl in there} | {"hardcode"}
    named = [n + more for n in names for more in ("", "~")]
    may = [n for n in named if authorizer.allows(principal, host, operation, R.TOPIC, n)]
    if told:
        assert any(
            acl.permission is AclPermission.ALLOW and concerns(acl, principal, host) for acl in there
        ), "nobody allowed anything"
    elif operation is O.WRITE:
        # Apache Kafka looks at single patterns: what a literal denial leaves of a prefix counts, what several
        # leave together does not. Nobody who may write to a name that is allowed by itself is told no.
        literal = [
            acl.resource_name
            for acl in there
            if acl.resource_type is R.TOPIC
            and acl.pattern_type is PatternType.LITERAL
            and acl.resource_name != "*"
            and acl.permission is AclPermission.ALLOW
            and acl.operation in (O.WRITE, O.ALL)
            and concerns(acl, principal, host)
        ]
        assert not set(literal) & set(may)


@given(
    history=histories,
    operation=operations,
    name=st.sampled_from(NAMES[:4]),
    resource=st.sampled_from(TYPES),
)
def test_a_super_user_may_do_everything_whatever_entries_say(
    history: list[AclBinding], operation: AclOperation, name: str, resource: AclResourceType
) -> None:
    authorizer = AclAuthorizer(super_users={"User:alice"})
    play(history, authorizer)
    alice = Principal("User", "alice")
    assert authorizer.allows(alice, "10.0.0.1", operation, resource, name)
    assert authorizer.allows_some(alice, "10.0.0.1", operation, resource)


@given(history=histories)
def test_what_came_and_went_leaves_nothing_behind(history: list[AclBinding]) -> None:
    authorizer = AclAuthorizer()
    for acl in play(history, authorizer):
        authorizer.changed([], [acl])
    assert not authorizer._patterns
    assert not any(authorizer._lengths.values())
