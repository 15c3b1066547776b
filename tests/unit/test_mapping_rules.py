"""Names of principals from names in certificates, by Kafka's rules."""

from __future__ import annotations

import pytest

from leaselog.broker.config import ConfigError
from leaselog.broker.security.mapping_rules import MappingRules, NoRuleApplies

DUKE = "CN=Duke,OU=ServiceUsers,O=Org,C=US"


@pytest.mark.parametrize(
    ("rules", "subject", "name"),
    [
        ("DEFAULT", DUKE, DUKE),
        ("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/", DUKE, "Duke"),
        ("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/L", DUKE, "duke"),
        ("RULE:^CN=(.*?),OU=(.*?),O=(.*?),C=(.*?)$/$1@$2/U, DEFAULT", DUKE, "DUKE@SERVICEUSERS"),
        ("RULE:^CN=other.*$/x/L,RULE:^cn=(.*)$/$1/,DEFAULT", DUKE, DUKE),
        ("  DEFAULT  ,  RULE:.*/x/", DUKE, DUKE),
        (r"RULE:CN=(\w+),.*/\$1 is $1\/$2/", DUKE, "$1 is Duke/$2"),
        ("RULE:CN=(D)(uke),.*/$12-$2$1/", DUKE, "D2-ukeD"),
        # Java's replaceAll goes on behind the whole, and finds the empty end of it
        ("RULE:(.*)/<$1>/", "a", "<a><>"),
        (r"RULE:CN=a\/b/slash/", r"CN=a/b", "slash"),
    ],
)
def test_the_first_rule_that_matches_the_whole_name_decides(rules: str, subject: str, name: str) -> None:
    assert MappingRules(rules).name_of(subject) == name


@pytest.mark.parametrize(
    ("rules", "subject"), [("RULE:^CN=(.*?),OU=x$/$1/", DUKE), ("RULE:Duke/x/", DUKE), ("", DUKE)]
)
def test_a_name_that_no_rule_applies_to_is_nobodys(rules: str, subject: str) -> None:
    with pytest.raises(NoRuleApplies, match="CN=Duke"):
        MappingRules(rules).name_of(subject)


@pytest.mark.parametrize(
    "rules",
    [
        "default",
        "RULE:a",
        "RULE:a/b",
        "RULE:a/b/X",
        "RULE:a/b/LU",
        "RULE:a/b/c/L",
        "RULE:(/b/",
        "DEFAULT RULE:a/b/",
    ],
)
def test_what_is_no_rule_refuses_the_start_in_one_line(rules: str) -> None:
    with pytest.raises(ConfigError, match=r"^ssl\.principal\.mapping\.rules: .*$"):
        MappingRules(rules)
