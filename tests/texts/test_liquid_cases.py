"""What the documentation of Liquid shows, for the part of it that Carillon has, reads the same."""

from __future__ import annotations

from typing import Any

import pytest

from campaigns.texts import filling, liquid

Case = tuple[str, dict[str, Any], str]
WORDS: list[Case] = [
    ("{{ 'Parker Moore' | upcase }}", {}, "PARKER MOORE"),
    ("{{ 'APPLE' | upcase }}", {}, "APPLE"),
    ("{{ 'Parker Moore' | downcase }}", {}, "parker moore"),
    ("{{ 'apple' | downcase }}", {}, "apple"),
    ("{{ 'title' | capitalize }}", {}, "Title"),
    ("{{ 'my GREAT title' | capitalize }}", {}, "My great title"),
    ("{{ '/my/fancy/url' | append: '.html' }}", {}, "/my/fancy/url.html"),
    ("{% assign f = '/index.html' %}{{ 'website.com' | append: f }}", {}, "website.com/index.html"),
    ("{{ 'apples, oranges, and bananas' | prepend: 'Some fruit: ' }}", {},
     "Some fruit: apples, oranges, and bananas"),
    ("{{ '          So much room for activities          ' | strip }}!", {},
     "So much room for activities!"),
    ("{{ 'Ground control to Major Tom.' | truncate: 20 }}", {}, "Ground control to..."),
    ("{{ 'Ground control to Major Tom.' | truncate: 25, ', and so on' }}", {},
     "Ground control, and so on"),
    ("{{ 'Ground control to Major Tom.' | truncate: 20, '' }}", {}, "Ground control to Ma"),
    ("{{ 'Have you read James & the Giant Peach?' | escape }}", {},
     "Have you read James &amp; the Giant Peach?"),
    ("{{ 'Tetsuro Takara' | escape }}", {}, "Tetsuro Takara"),
    ("{{ 'Take my protein pills and put my helmet on' | replace: 'my', 'your' }}", {},
     "Take your protein pills and put your helmet on"),
    ("{{ 'Ground control to Major Tom.' | size }}", {}, "28"),
    ("{{ fruits | size }}", {"fruits": ["apples", "oranges", "peaches", "plums"]}, "4"),
    ("{{ fruits.size }}", {"fruits": ["apples", "oranges", "peaches", "plums"]}, "4"),
    ("{{ 'john@liquid.com' | url_encode }}", {}, "john%40liquid.com"),
    ("{{ 'Tetsuro Takara' | url_encode }}", {}, "Tetsuro+Takara"),
    ("{{ beatles | join: ' and ' }}", {"beatles": ["John", "Paul", "George", "Ringo"]},
     "John and Paul and George and Ringo"),
    ("{{ beatles | join }}", {"beatles": ["John", "Paul"]}, "John Paul"),
]  # fmt: skip
NUMBERS: list[Case] = [
    ("{{ 4 | plus: 2 }}", {}, "6"),
    ("{{ 16 | plus: 4 }}", {}, "20"),
    ("{{ 183.357 | plus: 12 }}", {}, "195.357"),
    ("{{ 4 | minus: 2 }}", {}, "2"),
    ("{{ 16 | minus: 4 }}", {}, "12"),
    ("{{ 183.357 | minus: 12 }}", {}, "171.357"),
    ("{{ 3 | times: 2 }}", {}, "6"),
    ("{{ 24 | times: 7 }}", {}, "168"),
    ("{{ 183.357 | times: 12 }}", {}, "2200.284"),
    ("{{ 16 | divided_by: 4 }}", {}, "4"),
    ("{{ 5 | divided_by: 3 }}", {}, "1"),
    ("{{ 20 | divided_by: 7 }}", {}, "2"),
    ("{{ 20 | divided_by: 7.0 }}", {}, "2.857142857142857"),
    ("{{ 1.2 | round }}", {}, "1"),
    ("{{ 2.7 | round }}", {}, "3"),
    ("{{ 183.357 | round: 2 }}", {}, "183.36"),
]
DEFAULTS: list[Case] = [
    ("{{ product_price | default: 2.99 }}", {}, "2.99"),
    ("{{ product_price | default: 2.99 }}", {"product_price": 4.99}, "4.99"),
    ("{{ product_price | default: 2.99 }}", {"product_price": ""}, "2.99"),
    ("{{ display_price | default: true }}", {"display_price": False}, "true"),
    ("{{ display_price | default: true, allow_false: true }}", {"display_price": False}, "false"),
]
DATES: list[Case] = [
    ("{{ at | date: '%a, %b %d, %y' }}", {"at": "2015-07-17"}, "Fri, Jul 17, 15"),
    ("{{ at | date: '%Y' }}", {"at": "2015-07-17"}, "2015"),
    ("{{ 'March 14, 2016' | date: '%b %d, %y' }}", {}, "Mar 14, 16"),
]
CONDITIONS: list[Case] = [
    ("{% if product.title == 'Awesome Shoes' %}These shoes are awesome!{% endif %}",
     {"product": {"title": "Awesome Shoes"}}, "These shoes are awesome!"),
    ("{% unless product.title == 'Awesome Shoes' %}Not awesome.{% endunless %}",
     {"product": {"title": "Shirt"}}, "Not awesome."),
    ("{% if name == 'kevin' %}Hey Kevin!{% elsif name == 'anonymous' %}Hey Anonymous!{% else %}Hi"
     " Stranger!{% endif %}", {"name": "anonymous"}, "Hey Anonymous!"),
    ("{% if name == 'kevin' %}Hey Kevin!{% elsif name == 'anonymous' %}Hey Anonymous!{% else %}Hi"
     " Stranger!{% endif %}", {"name": "x"}, "Hi Stranger!"),
    ("{% case handle %}{% when 'cake' %}a cake{% when 'cookie', 'biscuit' %}a cookie{% else %}not"
     "{% endcase %}", {"handle": "cake"}, "a cake"),
    ("{% case handle %}{% when 'cake' %}a cake{% when 'cookie', 'biscuit' %}a cookie{% else %}not"
     "{% endcase %}", {"handle": "biscuit"}, "a cookie"),
    ("{% case handle %}{% when 'cake' %}a cake{% when 'cookie' or 'biscuit' %}a cookie{% else %}not"
     "{% endcase %}", {"handle": "bread"}, "not"),
    ("{% if type == 'Shirt' or type == 'Shoes' %}This is a shirt or a pair of shoes.{% endif %}",
     {"type": "Shoes"}, "This is a shirt or a pair of shoes."),
    ("{% if title contains 'Pack' %}has Pack{% endif %}", {"title": "Six Pack"}, "has Pack"),
    ("{% if tags contains 'Hello' %}has Hello{% endif %}", {"tags": ["Hello", "x"]}, "has Hello"),
    ("{% if n > 3 %}more{% endif %}{% if n >= 4 %}!{% endif %}", {"n": 4}, "more!"),
    ("{% if n < 3 %}less{% endif %}{% if n <= 4 %}!{% endif %}", {"n": 4}, "!"),
    ("{% if n != 3 %}other{% endif %}", {"n": 4}, "other"),
    ("{% if true or false and false %}This is true{% endif %}", {}, "This is true"),
    ("{% if true and false and false or true %}x{% endif %}", {}, ""),
    ("{% if settings.fp_heading %}<h1>{% endif %}", {"settings": {"fp_heading": ""}}, "<h1>"),
    ("{% assign tobi = 'Tobi' %}{% if tobi %}always true{% endif %}", {}, "always true"),
    ("{% if page.category == empty %}none{% endif %}", {"page": {"category": ""}}, "none"),
    ("{% if nothing %}x{% else %}y{% endif %}", {}, "y"),
    ("{% if n == nil %}nil{% endif %}", {}, "nil"),
]  # fmt: skip
TAGS: list[Case] = [
    ("{% assign my_variable = 'tomato' %}{{ my_variable }}", {}, "tomato"),
    ("{% assign foo = 'bar' %}{{ foo }}", {}, "bar"),
    ("{% assign n = 3 | plus: 1 %}{{ n }}", {}, "4"),
    ("{% comment %}anything{% endcomment %}x", {}, "x"),
    ("{% # a word for who reads this -%}x", {}, "x"),
    ("{% raw %}In Handlebars, {{ this }} will be escaped.{% endraw %}", {},
     "In Handlebars, {{ this }} will be escaped."),
    ("{% echo 'product.title' | upcase %}", {}, "PRODUCT.TITLE"),
    ("{%- assign my_variable = 'tomato' -%}\n{{ my_variable }}", {}, "tomato"),
    ("Wow,\n  {{- name -}}\n!", {"name": "John"}, "Wow,John!"),
    ("{{ site.users[0] }}", {"site": {"users": ["Tobi", "Laura"]}}, "Tobi"),
    ("{{ site.users[-1] }}", {"site": {"users": ["Tobi", "Laura"]}}, "Laura"),
    ("{{ users.first }} {{ users.last }}", {"users": ["Tobi", "Laura"]}, "Tobi Laura"),
    ("{{ page['title'] }}", {"page": {"title": "Introduction"}}, "Introduction"),
]  # fmt: skip

# Where we say something else, and know it.
OTHERWISE: list[Case] = [
    ("{{ \"James' peach\" | escape }}", {}, "James&#x27; peach"),  # the same letter, as &#39; is
    ("{{ 'now' | date: '%Y' | size }}", {}, "4"),
    ("{{ missing | default: 'a' }}{{ n | date: '%B' }}", {"n": "2015-07-17", "locale": "de"},
     "aJuli"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "values", "said"),
    [*WORDS, *NUMBERS, *DEFAULTS, *DATES, *CONDITIONS, *TAGS, *OTHERWISE],
)
def test_a_documented_example_reads_as_documented(
    text: str, values: dict[str, Any], said: str
) -> None:
    assert liquid.problems(text) == []
    assert filling.ready(text)(values) == said
