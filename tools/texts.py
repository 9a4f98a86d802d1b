# SPDX-License-Identifier: Apache-2.0
"""Texts of the tables that gen-tables.py and gen-baseline.py write. A table with pointers has to be
relocated at each start of a program, page by page, even if the program never reads it. So all texts
of a .c file are one array, and a row has the places where its texts start, as 16 bits."""
import json


def c_string(text):
    return json.dumps(text)


class Texts:
    def __init__(self, name):
        self.name, self.places, self.size = name, {"": 0}, 1

    def place(self, text):
        """Where it starts. The empty text is at 0: a row that may lack a text has 0 for none."""
        if text not in self.places:
            self.places[text] = self.size
            self.size += len(text.encode()) + 1
        if self.size > 0xffff:
            raise OverflowError(f"too many texts for 16 bits in {self.name}")
        return str(self.places[text])

    def c_source(self):
        lines = [f'\t{c_string(text)[:-1]}\\0"\n' for text in self.places]
        return "".join([f"const char {self.name}[] =\n", *lines, "\t;\n",
                        f'_Static_assert(sizeof({self.name}) == {self.size + 1}, "places");\n'])
