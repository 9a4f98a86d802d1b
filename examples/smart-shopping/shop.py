# SPDX-License-Identifier: Apache-2.0
"""The script of the skill: lists reminders, fetches a page, notifies. All three through the broker."""

import json
import subprocess
import sys

PRICES = "https://prices.example/today"  # a line for each thing: NAME PRICE


def call(method, **params):
    """The result of a method; a refusal ends the script with the broker's words."""
    done = subprocess.run(["sandbox-call", "--json", method, json.dumps(params)], stdout=subprocess.PIPE, check=False)
    answer = json.loads(done.stdout)
    if "error" in answer:
        sys.exit(f"{method}: {answer['error']['message']} ({answer['error']['code']})")
    return answer


wanted = [item["title"] for item in call("reminders.list", list="Shopping")["reminders"]]
page = call("network.http", url=PRICES)["body"]
prices = {name: float(price) for name, price in (line.rsplit(" ", 1) for line in page.splitlines())}
known = [name for name in wanted if name in prices]
title = f"{len(known)} things: {sum(prices[name] for name in known):.2f}"
missing = ", ".join(name for name in wanted if name not in prices)
call("notifications.send", title=title, body=f"No price for {missing}" if missing else "All have a price")
print(title)
