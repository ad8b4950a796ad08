"""A second round of chat lines: 40 that hold secrets in other places than the first, 40 that only look so.

Written after the filter was mended with the first round in view, measured once and never tuned to: the honest figure.
Holes are as in `strangers`. Never print a line's text in a failure; print its id.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from tests.corpus import SecretLine
from tests.guard.strangers import Written, made

SECRET: Sequence[Written] = (
    # Commands.
    ("shell", "unseen", "ssh-keygen -t ed25519 -N '«hard»' -f id_backup"),
    ("shell", "unseen", "gpg --batch --passphrase «password» -d letters.gpg"),
    ("shell", "unseen", "keytool -importkeystore -srckeystore a.jks -srcstorepass «password» -deststoretype pkcs12"),
    ("shell", "unseen", "curl -u elastic:«password» 'http://es.example:9200/_cat/indices?v'"),
    ("shell", "unseen", "psql 'host=db user=tide password=«password» sslmode=require' -c '\\dt'"),
    ("shell", "unseen", "nmcli dev wifi connect Attic password «password»"),
    ("shell", "unseen", "http -a anna:«password» GET files.example/box"),
    ("shell", "unseen", "useradd -m anna && echo 'anna:«password»' | chpasswd"),
    ("shell", "unseen", "$pw = ConvertTo-SecureString '«hard»' -AsPlainText -Force"),
    ("shell", "unseen", "net use Z: \\\\nas\\share «hard» /user:anna"),
    ("shell", "unseen", "cmdkey /add:nas /user:anna /pass:«password»"),
    ("shell", "unseen", "restic -r sftp:nas:/box backup ~  # RESTIC_PASSWORD is «password»"),
    # Files.
    ("file", "unseen", "ARG NPM_AUTH=«npm»\nRUN npm ci"),
    ("file", "unseen", "# ~/.git-credentials\nhttps://anna:«github»@github.com"),
    ("file", "unseen", "signing.keyId=24875D73\nsigning.password=«password»\nsigning.secretKeyRingFile=ring.gpg"),
    ("file", "unseen", 'KafkaClient {\n  ScramLoginModule required\n  username="tide"\n  password="«hard»";\n};'),
    ("file", "unseen", ': PSK "«base62-32»"'),
    ("file", "unseen", "enable secret 0 «password»\nusername ops privilege 15 password 0 «password»"),
    ("file", "unseen", "snmp-server community «password» RO"),
    ("file", "unseen", "binddn cn=tide,dc=lab,dc=example\nbindpw «password»"),
    ("file", "unseen", 'db_password = "«password»" # terraform.tfvars'),
    ("file", "unseen", "  - name: SMTP_PASSWORD\n    value: «hard»"),
    ("file", "unseen", "Driver={ODBC Driver 18};Server=db;Uid=sa;Pwd=«hard»;Encrypt=yes"),
    ("file", "unseen", '<property name="connection.password">«password»</property>'),
    ("file", "unseen", "[Peer]\nPublicKey = ‹wireguard›\nPresharedKey = «wireguard»"),
    # Code.
    ("code", "unseen", 'let client = Client::with_token("«base62-40»"); // api token'),
    ("code", "unseen", 'var conn = new SqlConnection("Server=db;User=sa;Password=«hard»");'),
    ("code", "unseen", 'val apiSecret: String = "«base62-32»"'),
    ("code", "unseen", 'Sys.setenv(AWS_SECRET_ACCESS_KEY = "«aws-secret»")'),
    ("code", "unseen", "fetch(url, { headers: { 'Ocp-Apim-Subscription-Key': '«hex-32»' } })"),
    # Addresses.
    ("url", "unseen", "http://127.0.0.1:8888/lab?token=«hex-48»"),
    ("url", "unseen", "WIFI:T:WPA;S:Attic;P:«password»;;"),
    ("url", "unseen", "otpauth://totp/Tide:anna?secret=JBSW«upper-24»&issuer=Tide"),
    ("url", "unseen", "https://app.example/magic/login?sig=«base62-43»"),
    # Talk.
    ("talk", "unseen", "Username: anna\nPassword: «password»\nPlease change it after the first login."),
    ("talk", "unseen", "pw is «password», don't tell Ben"),
    ("talk", "unseen", "use «password» as the password for the backup disk"),
    ("talk", "unseen", "La password del NAS è «password», la cambio domani"),
    ("talk", "unseen", "het wachtwoord van de wifi is «password»"),
    ("talk", "unseen", "recovery codes: «digits-8» «digits-8» «digits-8»"),
)

CLEAN: Sequence[tuple[str, str]] = (
    ("talk", "A password manager is worth more than a good memory; mine has 212 entries."),
    ("talk", "Pass the salt, and pass 'Bread' to Ben."),
    ("talk", "The secret of the sauce: anchovies. The key: patience."),
    ("talk", "Why does the form say password must contain 1 number and 1 symbol?"),
    ("talk", "Il a perdu le mot de passe de la box, il faut la réinitialiser."),
    ("talk", "Der Schlüssel: 2 Umdrehungen nach links, dann drücken."),
    ("talk", "The token is burned when the raid ends; you get 2500 gold."),
    ("talk", "password: the word appears 14 times in chapter 3"),
    ("talk", "We were told the code for the door would change in May."),
    ("talk", "Your account/username is shown at the top / right corner."),
    ("talk", "login as admin / viewer / editor and compare the menus"),
    ("number", "code 4012 means the socket was closed; code 1006 means it broke"),
    ("number", "my phone's code reads 49 for Germany"),
    ("number", "the country code is 0049"),
    ("number", "card 3 of 12: 1887 2043 1999 are the years on it"),
    ("number", "GPS 52.520008, 13.404954; altitude 34.2; heading 271"),
    ("number", "IBAN stands for International Bank Account Number"),
    ("number", "PID 48213 listens on 0.0.0.0:5432:tcp"),
    ("code", "const { data: token, error: tokenError } = useToken('session-2');"),
    ("code", "password_field.send_keys(Keys.TAB)"),
    ("code", "assert 'password' not in repr(user)"),
    ("code", "parser.add_argument('--password', help='asked for when missing')"),
    ("code", "logger.info('token refreshed in %d ms', took)"),
    ("code", "t('login.password', 'Password (8 characters or more)')"),
    ("code", "export type TokenKind = 'identifier' | 'number2' | 'string8';"),
    ("code", "<label for=\"pw\">Password</label><span class=\"hint-2\">"),
    ("code", "SELECT token_id, secret_name FROM vault_entries WHERE user_id = 42;"),
    ("code", "match token { Token::Ident(name) => self.ident(name), _ => {} }"),
    ("code", "docker login registry.example:5000 && docker push registry.example:5000/tide:1.4.2"),
    ("code", "scp -P 2222 build.tgz ops@10.2.0.4:/srv/app2"),
    ("table", "| field | type | token |\n| --- | --- | --- |\n| id | int4 | optional |"),
    ("table", "| password | rules |\n| --- | --- |\n| at least 12 | one digit |"),
    ("table", "user,password,role\nanna,(unset),admin\nben,(unset),reader"),
    ("id", "fly machine 3d8d9014b32389 in fra, image registry.fly.example/tide:deployment-01HX‹upper-10›"),
    ("id", "npm audit: GHSA-8cf7-32gw-wr33, CVE-2026-12345, CWE-79"),
    ("id", "block 0x‹hex-64› at height 19426587"),
    ("id", "https://figma.example/file/‹base62-22›/Tide-clock?node-id=12-345"),
    ("hash", "\"_resolved\": \"https://registry.example/a/-/a-1.0.2.tgz#‹hex-40›\""),
    ("log", "auth: 3 failures from 2001:db8:85a3::8a2e:370:7334 port 51234 ssh2"),
    ("log", "pam_unix(sshd:session): session opened for user ops(uid=1001) by ops(uid=0)"),
)  # fmt: skip


@cache
def strangers_again() -> list[SecretLine]:
    """All lines of the second round."""
    return made(SECRET, "again") + made([(f, "clean", t) for f, t in CLEAN], "still")
