"""A tokenizer of bytes, and lines as the two benchmarks publish them."""

import json

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

TEMPLATE = (
    "{{ bos_token }}{% for each in messages %}[{{ each.role }}]{{ each.content }}{% endfor %}"
    "{% if add_generation_prompt %}[model]{% endif %}"
)


def tokenizer(template: str | None = TEMPLATE) -> PreTrainedTokenizerFast:
    """A token a byte, and a mark of begin that it puts before a text."""
    vocabulary = {letter: index for index, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    vocabulary |= {"<s>": 256, "</s>": 257}
    made = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 256)])
    found = PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<s>", eos_token="</s>")
    found.chat_template = template
    return found


INFINITE = {
    "passkey": {"context": "The pass key is 48213. ", "input": "What is the pass key?", "answer": ["48213"]},
    "number_string": {"context": "It is 5550122222. ", "input": "What is it?", "answer": "5550122222"},
    "kv_retrieval": {"context": 'JSON data:\n{"a-1": "b-2"}', "input": 'Key: "a-1"\n', "answer": "b-2"},
    "longbook_choice_eng": {"context": "A book. ", "input": "Who?", "answer": ["Ann"], "options": ["Bo", "Ann", "Cy"]},
    "math_find": {"context": [3, 9, 4], "input": "The largest number is: ", "answer": 9},
    "code_debug": {"context": "def f(): 1 + ''\n", "input": "", "answer": ["f", "A"], "options": ["f", "g", "h", "k"]},
}  # fmt: skip
LONG = {
    "narrativeqa": ("Who?", ["Ann"]), "qasper": ("Why?", ["unanswerable"]), "multifieldqa_en": ("Who?", ["Ann"]),
    "hotpotqa": ("Who?", ["Ann"]), "2wikimqa": ("Who?", ["Ann"]), "musique": ("Who?", ["Ann"]),
    "gov_report": ("", ["A summary."]), "qmsum": ("What was said?", ["Little."]), "multi_news": ("", ["A summary."]),
    "trec": ("Question: who?\nType:", ["Individual"]), "triviaqa": ("Question: who?\nAnswer:", ["Ann"]),
    "samsum": ("Dialogue: a\nSummary: ", ["A talk."]), "passage_count": ("", ["7"]),
    "passage_retrieval_en": ("An abstract.", ["Paragraph 12"]), "lcc": ("", ["    return x"]),
    "repobench-p": ("import x\n", ["x.run()"]),
}  # fmt: skip


def infinite_line(task: str, number: int) -> dict:
    row = {"id": number, "options": []} | INFINITE[task]
    return row | {"context": row["context"] * 20} if isinstance(row["context"], str) else row


def long_line(task: str, number: int) -> dict:
    asked, answers = LONG[task]
    classes = ["Individual", "Group"] if task == "trec" else None
    return {
        "input": asked,
        "context": "Some words of a text. " * 20,
        "answers": answers,
        "length": 100,
        "dataset": task,
        "language": "en",
        "all_classes": classes,
        "_id": f"{number:048x}",
    }


def written(lines: list[dict]) -> str:
    return "".join(json.dumps(line) + "\n" for line in lines)
