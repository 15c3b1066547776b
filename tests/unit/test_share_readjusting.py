"""Members come and go: the assignment is as balanced as if it had been made anew, and few targets change."""

from __future__ import annotations

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from leaselog.coordination.share_assignor import assign
from leaselog.coordination.share_group_facts import Assignment
from leaselog.coordination.share_readjusting import readjust
from leaselog.model import MemberId, TopicId

T, U = (TopicId(UUID(int=i)) for i in (1, 2))
Targets = dict[MemberId, Assignment]


class Group:
    """Members that all want both topics."""

    def __init__(self, partitions: int) -> None:
        self.available = {T: frozenset(range(partitions)), U: frozenset(range(partitions // 2))}
        self.places = sum(map(len, self.available.values()))
        self.members: list[MemberId] = []
        self.targets: Targets = {}
        self.freed: list[Assignment] = []
        self.changed_count = 0
        self.anew_count = 0

    def settle(self) -> None:
        """Brings the targets up to date, as a group does."""
        changed = readjust(self.members, self.places, self.targets, self.freed)
        if changed is None:
            self.anew_count += 1
            wanted = {member: frozenset(self.available) for member in self.members}
            after = assign(wanted, self.available, self.targets) if self.members else {}
            changed = {m: target for m, target in after.items() if self.targets.get(m) != target}
        assert all(self.targets.get(member) != target for member, target in changed.items())
        self.changed_count += len(changed)
        self.targets |= changed
        self.freed = []

    def come(self, number: int) -> None:
        member = MemberId(f"m{number:04}")
        if member not in self.members:
            self.members.append(member)

    def go(self, number: int) -> None:
        if self.members:
            member = self.members.pop(number % len(self.members))
            target = self.targets.pop(member, None)
            if target:
                self.freed.append(target)

    def check(self) -> None:
        """What the assignor promises."""
        if not self.members:
            return
        assert set(self.targets) == set(self.members)
        sizes = [sum(map(len, target.values())) for target in self.targets.values()]
        sharing = -(-len(self.members) // self.places)
        assert sum(sizes) == sharing * self.places
        assert max(sizes) - min(sizes) <= 1
        for topic, partitions in self.available.items():
            for i in partitions:
                holders = sum(i in target.get(topic, ()) for target in self.targets.values())
                assert holders == sharing
        assert all(target.keys() <= self.available.keys() for target in self.targets.values())
        assert all(partitions for target in self.targets.values() for partitions in target.values())


STEPS = st.lists(st.tuples(st.booleans(), st.integers(0, 30), st.booleans()), max_size=60)


@given(st.integers(2, 12), STEPS)
def test_whoever_comes_and_goes_it_is_as_balanced_as_if_made_anew(
    partitions: int, steps: list[tuple[bool, int, bool]]
) -> None:
    group = Group(partitions)
    for comes, number, settles in steps:
        group.come(number) if comes else group.go(number)
        if settles and group.members:
            group.settle()
            group.check()


def test_a_thousand_joins_change_few_targets_and_are_hardly_ever_balanced_anew() -> None:
    group = Group(668)
    assert group.places == 1002
    for number in range(1_000):
        group.come(number)
        group.settle()
    group.check()
    assert group.anew_count == 1, "the first alone"
    assert group.changed_count < 8 * 1_000 + 1_000


def test_a_thousand_members_that_leave_change_few_targets() -> None:
    group = Group(668)
    for number in range(1_000):
        group.come(number)
        group.settle()
    group.changed_count = 0
    for number in range(990):
        group.go(number * 7)
        group.settle()
    group.check()
    assert group.changed_count < 8 * 1_000


def test_where_a_partition_takes_more_members_than_before_all_is_balanced_anew() -> None:
    group = Group(4)
    for number in range(group.places):
        group.come(number)
        group.settle()
    assert group.anew_count == 1
    group.come(99)
    group.settle()
    group.check()
    assert group.anew_count == 2


def test_targets_of_which_nobody_knows_where_they_went_are_nothing_to_go_on_from() -> None:
    targets: Targets = {MemberId("a"): {T: frozenset({0, 1})}}
    assert readjust([MemberId("a"), MemberId("b")], 3, targets, []) is None
    assert readjust([MemberId("a")], 0, {}, []) is None
