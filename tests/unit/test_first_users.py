"""The users that a broker is started with: how they are written, and that a start changes nobody who is there."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path

import pytest
from broker_in_a_box import in_a_box, run

from leaselog.broker.security.first_users import read_first_user, read_first_users
from leaselog.coordination.cluster_records import ScramCredentialSet
from leaselog.sasl.scram import SCRAM_SHA_256, SCRAM_SHA_512, credential, salted_password

SALT = b"drawn"


def read(text: str) -> ScramCredentialSet:
    return read_first_user(text, lambda: SALT)


def test_a_user_has_a_name_and_a_password() -> None:
    made = read("SCRAM-SHA-256=[name=admin,password=secret]")
    assert made == ScramCredentialSet("admin", 1, credential(SCRAM_SHA_256, "secret", SALT, 4096))


def test_salt_and_iterations_may_be_said_and_what_has_a_comma_is_quoted() -> None:
    salt = base64.b64encode(b"pepper").decode()
    made = read(f'SCRAM-SHA-512=[name="a,b", password="x,]=y",salt="{salt}",iterations=8192]')
    assert made == ScramCredentialSet("a,b", 2, credential(SCRAM_SHA_512, "x,]=y", b"pepper", 8192))


def test_a_salted_password_is_taken_instead_of_a_password() -> None:
    salted = salted_password(SCRAM_SHA_256, "secret", SALT, 4096)
    told = [base64.b64encode(value).decode() for value in (SALT, salted)]
    made = read(f"SCRAM-SHA-256=[name=admin,salt={told[0]},saltedpassword={told[1]}]")
    assert made == read("SCRAM-SHA-256=[name=admin,password=secret]")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "what was written is not"),
        ("admin:secret", "what was written is not"),
        ("PLAIN=[name=admin,password=secret]", "what was written is not"),
        ("SCRAM-SHA-256=[name=admin,password=secret", "what was written is not"),
        ("SCRAM-SHA-256=[password=secret]", "has no name"),
        ("SCRAM-SHA-256=[name=admin]", "one of password and saltedpassword"),
        ("SCRAM-SHA-256=[name=admin,password=]", "password is empty"),
        (
            "SCRAM-SHA-256=[name=admin,password=secret,saltedpassword=c2VjcmV0]",
            "one of password and saltedpassword",
        ),
        ("SCRAM-SHA-256=[name=admin,saltedpassword=c2VjcmV0]", "needs the salt"),
        ("SCRAM-SHA-256=[name=admin,password=secret,salt=secret!]", "salt in base64"),
        ("SCRAM-SHA-256=[name=admin,password=secret,iterations=4095]", "4096 to 16384"),
        ("SCRAM-SHA-256=[name=admin,password=secret,iterations=16385]", "4096 to 16384"),
        ("SCRAM-SHA-256=[name=admin,password=secret,iterations=many]", "4096 to 16384"),
        ("SCRAM-SHA-256=[name=admin,pass=secret]", "from character 12"),
        ("SCRAM-SHA-256=[name=admin,password=secret,password=secret]", "from character 28"),
        ('SCRAM-SHA-256=[name=admin,password="sec"ret]', "from character 12"),
    ],
)
def test_what_cannot_be_read_is_refused_in_a_line_without_the_password(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why) as refused:
        read(text)
    assert "secret" not in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_has_a_user_a_line() -> None:
    lines = ["# of the test", "", " SCRAM-SHA-256=[name=a,password=p] ", "SCRAM-SHA-512=[name=a,password=p]"]
    made = read_first_users(lines, lambda: SALT)
    assert [(one.user, one.mechanism) for one in made] == [("a", 1), ("a", 2)]


def test_a_start_makes_who_is_missing_and_changes_nobody_who_is_there(tmp_path: Path) -> None:
    async def story() -> None:
        first, other = (read(f"SCRAM-SHA-256=[name=admin,password={word}]") for word in ("one", "other"))
        second = read("SCRAM-SHA-512=[name=admin,password=one]")
        async with in_a_box(str(tmp_path)) as box:
            await box.broker.cluster.add_users([first])
            await box.broker.cluster.add_users([other, second])
            assert box.broker.cluster.scram_users() == {"admin": {1: first.credential, 2: second.credential}}
        async with in_a_box(str(tmp_path)) as box:
            assert box.broker.cluster.scram_users()["admin"][1] == first.credential

    run(asyncio.wait_for(story(), 30))
