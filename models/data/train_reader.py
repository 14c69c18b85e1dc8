"""Trains what the reader of requests (models/src/reader.rs) adds to its encoder, and writes reader.bin beside this file.

    python3 -m venv .venv && .venv/bin/pip install \
        jax==0.10.2 optax==0.2.8 tokenizers==0.23.3 safetensors==0.8.0 numpy==2.4.6 jellyfish==1.3.0
    .venv/bin/python models/data/train_reader.py MODEL.safetensors VOCAB.txt

It learns from the same requests as the index (`tools/src/bin/train_discovery`): `train/utterances.jsonl` of the evaluation data
(`TIRO_DATA`, else beside the workspace) and `tools/data/requests.tsv`, fewer those that occur among the test commands and in the
held-out files. It took 110 minutes on two cores, builds beside it. Seeds are fixed, but floats are added in another order on another machine, so the
outcome is not the same to the bit; what it has to reach stands in `tests/src/second_opinion.rs`. With `--say` it prints what the
file makes of a request.

Only small changes of the encoder's matrices are learned (LoRA), so that the encoder itself comes from where everybody's comes from
and what is shipped stays small.
"""

import argparse, collections, hashlib, json, os, random, re, struct, time
from pathlib import Path

import jax, jax.numpy as jnp, jellyfish, numpy as np, optax
from safetensors.numpy import load_file
from tokenizers import BertWordPieceTokenizer

HERE = Path(__file__).resolve().parent
OWN = HERE / "../../tools/data"
DATA = Path(os.environ.get("TIRO_DATA", HERE / "../../../shared/data"))
# What a request that was written for this project counts beside one that somebody said, and how often a request is
# learned as a poor recogniser may have heard it.
OURS, NOISY = 0.5, 0.7
RANK, SCALE, EPOCHS, BATCH, RATE, DROP, SMOOTH = 16, 2.0, 7, 64, 1.5e-3, 0.1, 0.05
LAYERS, HEADS, HIDDEN = 6, 12, 384
# As in `reader/tuned.rs`.
MATRICES = [
    "attention.self.query", "attention.self.key", "attention.self.value",
    "attention.output.dense", "intermediate.dense", "output.dense",
]
PAD_TO = (8, 12, 16, 24, 40)


def words(text):
    """Nearly as `words::split` of the index: that keeps letters with accents, and cuts "iPhone" in two."""
    return re.findall(r"[a-z0-9]+", text.lower())


def letters(text):
    return "".join(words(text))


def corpus():
    """Requests as words, with their intent and weight; the intents; the hash of the files."""
    public = (DATA / "train/utterances.jsonl").read_bytes()
    own = (OWN / "requests.tsv").read_bytes()
    tests = set()
    for line in (DATA / "slurp/commands.jsonl").read_text().splitlines():
        line = json.loads(line)
        tests |= {letters(line["say"]), letters(line["asr"])}
    for name in ("held-out.tsv", "held-out-none.tsv", "held-out-places.tsv"):
        tests |= {letters(line.split("\t", 1)[1]) for line in (OWN / name).read_text().splitlines()}
    requests = []
    for line in public.decode().splitlines():
        line = json.loads(line)
        requests.append((words(line["say"]), tuple(sorted(line["accept"])), 1.0))
    for line in own.decode().splitlines():
        tool, say = line.split("\t", 1)
        requests.append((words(say), () if tool == "-" else (tool,), OURS))
    requests = [request for request in requests if request[0] and "".join(request[0]) not in tests]
    intents = sorted({accept for _, accept, _ in requests})
    return requests, intents, hashlib.sha256(public + own).hexdigest()


class Recogniser:
    """What a poor recogniser makes of a sentence: it loses words, hears others, takes one for another that sounds or looks alike,
    and puts the borders of words elsewhere."""

    def __init__(self, sentences, rng):
        self.rng = rng
        self.all = [word for sentence in sentences for word in sentence]
        self.known = sorted(set(self.all))
        self.set = set(self.known)
        self.by_sound = collections.defaultdict(list)
        self.by_initial = collections.defaultdict(list)
        self.sound = {word: jellyfish.metaphone(word) for word in self.known}
        for word in self.known:
            self.by_sound[self.sound[word][:1]].append(word)
            self.by_initial[word[0]].append(word)
        self.near = {}

    def alike(self, word, by_sound):
        key = (word, by_sound)
        if key not in self.near:
            sound = self.sound.get(word) or jellyfish.metaphone(word)
            if by_sound:
                pool = self.by_sound[sound[:1]]
                like = lambda other: (-jellyfish.damerau_levenshtein_distance(self.sound[other], sound),
                                      jellyfish.jaro_winkler_similarity(other, word))
            else:
                pool = self.by_initial[word[0]]
                like = lambda other: jellyfish.jaro_winkler_similarity(other, word)
            others = sorted((other for other in pool if other != word), key=like, reverse=True)
            self.near[key] = others[:5] or [word]
        return self.rng.choice(self.near[key])

    def borders(self, word, behind):
        """The word in two, or with the next one in one, where those are words."""
        if behind and word + behind in self.set:
            return [word + behind], True
        cuts = [(word[:at], word[at:]) for at in range(2, len(word) - 1)]
        cuts = [cut for cut in cuts if cut[0] in self.set and cut[1] in self.set]
        return (list(self.rng.choice(cuts)), False) if cuts else ([self.alike(word, True)], False)

    def hears(self, sentence):
        wrong = self.rng.choice((0.1, 0.2, 0.3, 0.4))
        heard, skip = [], False
        for at, word in enumerate(sentence):
            if skip:
                skip = False
                continue
            if self.rng.random() >= wrong:
                heard.append(word)
                continue
            kind = self.rng.random()
            if kind < 0.2:
                continue
            if kind < 0.35:
                heard.append(self.rng.choice(self.all))
            elif kind < 0.75:
                heard.append(self.alike(word, True))
            elif kind < 0.9:
                heard.append(self.alike(word, False))
            else:
                new, skip = self.borders(word, sentence[at + 1] if at + 1 < len(sentence) else "")
                heard += new
        return heard or sentence


def normed(x, gain, bias):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-12) * gain + bias


def network(learned, fixed, ids, mask, key, drops):
    """Logits of the intents; the encoder as in `reader/encoder.rs`."""
    def linear(x, name):
        out = x @ fixed[name + ".weight"].T + fixed[name + ".bias"]
        return out + (x @ learned[name + ".A"]) @ learned[name + ".B"] * SCALE

    def dropped(x, key):
        return x * jax.random.bernoulli(key, 1 - DROP, x.shape) / (1 - DROP) if drops else x

    def norm(x, name):
        return normed(x, fixed[name + ".weight"], fixed[name + ".bias"])

    batch, length = ids.shape
    x = fixed["embeddings.word_embeddings.weight"][ids]
    x = x + fixed["embeddings.position_embeddings.weight"][:length] + fixed["embeddings.token_type_embeddings.weight"][0]
    x = norm(x, "embeddings.LayerNorm")
    hidden = (1 - mask)[:, None, None, :] * -1e9
    keys = jax.random.split(key, 2 * LAYERS + 1)
    heads = lambda y: y.reshape(batch, length, HEADS, HIDDEN // HEADS).transpose(0, 2, 1, 3)
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}."
        query, keyed, value = (heads(linear(x, name + matrix)) for matrix in MATRICES[:3])
        scores = jax.nn.softmax(query @ keyed.transpose(0, 1, 3, 2) / np.sqrt(HIDDEN // HEADS) + hidden, -1)
        joined = (scores @ value).transpose(0, 2, 1, 3).reshape(batch, length, HIDDEN)
        x = norm(x + dropped(linear(joined, name + MATRICES[3]), keys[2 * layer]), name + "attention.output.LayerNorm")
        wide = jax.nn.gelu(linear(x, name + MATRICES[4]), approximate=True)
        x = norm(x + dropped(linear(wide, name + MATRICES[5]), keys[2 * layer + 1]), name + "output.LayerNorm")
    vector = (x * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True)
    return dropped(vector, keys[-1]) @ learned["head.weight"] + learned["head.bias"]


def begin(fixed, intents, key):
    learned = {"head.weight": jnp.zeros((HIDDEN, intents)), "head.bias": jnp.zeros(intents)}
    for layer in range(LAYERS):
        for matrix in MATRICES:
            name = f"encoder.layer.{layer}.{matrix}"
            outputs, inputs = fixed[name + ".weight"].shape
            key, one = jax.random.split(key)
            learned[name + ".A"] = jax.random.normal(one, (inputs, RANK)) / np.sqrt(inputs)
            learned[name + ".B"] = jnp.zeros((RANK, outputs))
    return learned


def padded(pieces):
    longest = max(map(len, pieces))
    length = next((to for to in PAD_TO if to >= longest), PAD_TO[-1])
    ids, mask = np.zeros((len(pieces), length), np.int32), np.zeros((len(pieces), length), np.float32)
    for row, piece in enumerate(pieces):
        piece = piece[:length]
        ids[row, : len(piece)], mask[row, : len(piece)] = piece, 1
    return ids, mask


def write(path, learned, head):
    """Magic, the length of the head, the head, and the upper halves of the numbers, rounded."""
    def halves(x):
        bits = np.ascontiguousarray(np.asarray(x, np.float32)).view(np.uint32).astype(np.uint64)
        return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2").tobytes()

    head = json.dumps(head).encode()
    out = [b"TIRORDR1", struct.pack("<I", len(head)), head]
    for layer in range(LAYERS):
        for matrix in MATRICES:
            name = f"encoder.layer.{layer}.{matrix}"
            out += [halves(learned[name + ".A"] * SCALE), halves(learned[name + ".B"])]
    out += [halves(learned["head.weight"]), halves(learned["head.bias"])]
    Path(path).write_bytes(b"".join(out))


def read_back(path, fixed, tokenizer, text):
    """Prints what a written file makes of a request: the likeliest intents and the logarithms of their probabilities."""
    rest = Path(path).read_bytes()[8:]
    (length,) = struct.unpack("<I", rest[:4])
    head, numbers = json.loads(rest[4 : 4 + length]), np.frombuffer(rest[4 + length :], "<u2")
    numbers = (numbers.astype(np.uint32) << 16).view(np.float32)
    learned, at = {}, 0

    def take(rows, columns):
        nonlocal at
        at += rows * columns
        return jnp.asarray(numbers[at - rows * columns : at].reshape(rows, columns))

    for layer in range(LAYERS):
        for matrix in MATRICES:
            name = f"encoder.layer.{layer}.{matrix}"
            outputs, inputs = fixed[name + ".weight"].shape
            learned[name + ".A"] = take(inputs, head["rank"]) / SCALE
            learned[name + ".B"] = take(head["rank"], outputs)
    learned["head.weight"] = take(HIDDEN, len(head["intents"]))
    learned["head.bias"] = take(1, len(head["intents"]))[0]
    ids, mask = padded([tokenizer.encode(" ".join(words(text))).ids])
    logs = jax.nn.log_softmax(network(learned, fixed, ids, mask, jax.random.PRNGKey(0), False))[0]
    for at in np.argsort(-logs)[:3]:
        print(f"{logs[at]:.4f} {' '.join(head['intents'][at])}")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("model")
    options.add_argument("vocabulary")
    options.add_argument("--out", default=HERE / "reader.bin")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--say", help="train nothing, and print what the file makes of this request")
    options = options.parse_args()
    if options.say:
        fixed = {name: jnp.asarray(tensor) for name, tensor in load_file(options.model).items()}
        tokenizer = BertWordPieceTokenizer(options.vocabulary, lowercase=True)
        return read_back(options.out, fixed, tokenizer, options.say)
    requests, intents, digest = corpus()
    number = {intent: at for at, intent in enumerate(intents)}
    said = [request[0] for request in requests]
    wanted = np.array([number[request[1]] for request in requests])
    weight = np.array([request[2] for request in requests], np.float32)
    fixed = {name: jnp.asarray(tensor) for name, tensor in load_file(options.model).items() if tensor.dtype == np.float32}
    tokenizer = BertWordPieceTokenizer(options.vocabulary, lowercase=True)
    rng, key = random.Random(options.seed), jax.random.PRNGKey(options.seed)
    recogniser = Recogniser(said, rng)
    steps = len(requests) * EPOCHS // BATCH
    rate = optax.warmup_cosine_decay_schedule(0, RATE, steps // 16, steps, RATE / 50)
    optimiser = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(rate, weight_decay=0.01))
    learned = begin(fixed, len(intents), key)
    state = optimiser.init(learned)

    def loss(learned, fixed, ids, mask, wanted, weight, key):
        logs = jax.nn.log_softmax(network(learned, fixed, ids, mask, key, True))
        right = logs[jnp.arange(len(wanted)), wanted]
        return -(((1 - SMOOTH) * right + SMOOTH * logs.mean(-1)) * weight).sum() / weight.sum()

    @jax.jit
    def step(learned, state, fixed, ids, mask, wanted, weight, key):
        value, slope = jax.value_and_grad(loss)(learned, fixed, ids, mask, wanted, weight, key)
        change, state = optimiser.update(slope, state, learned)
        return optax.apply_updates(learned, change), state, value

    done, mean, started = 0, None, time.time()
    while done < steps:
        order = list(range(len(requests)))
        rng.shuffle(order)
        heard = [recogniser.hears(said[at]) if rng.random() < NOISY else said[at] for at in order]
        pieces = [encoded.ids for encoded in tokenizer.encode_batch([" ".join(one) for one in heard])]
        # Sentences of one length stand together, so that little is padded.
        batches = []
        for first in range(0, len(order), BATCH * 50):
            near = sorted(range(first, min(first + BATCH * 50, len(order))), key=lambda at: len(pieces[at]))
            batches += [near[at : at + BATCH] for at in range(0, len(near), BATCH)]
        batches = [batch for batch in batches if len(batch) == BATCH]
        rng.shuffle(batches)
        for batch in batches[: steps - done]:
            key, one = jax.random.split(key)
            ids, mask = padded([pieces[at] for at in batch])
            of = [order[at] for at in batch]
            learned, state, value = step(learned, state, fixed, ids, mask, wanted[of], weight[of], one)
            mean = float(value) if mean is None else 0.98 * mean + 0.02 * float(value)
            done += 1
            if done % 100 == 0:
                print(f"{done} of {steps}, loss {mean:.3f}, {time.time() - started:.0f} s", flush=True)
    head = {
        "intents": [list(intent) for intent in intents],
        "trained_on": digest,
        "utterances": len(requests),
        "encoder": hashlib.sha256(Path(options.model).read_bytes()).hexdigest(),
        "rank": RANK,
    }
    write(options.out, learned, head)


if __name__ == "__main__":
    main()
