"""What looks at features alone leaves free of charge where features are public, and nothing else leaves that way."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import privet
from privet import Numeric, Schema
from privet.errors import ParameterError
from privet.estimators.files import file_text
from privet.mechanisms.release import Release, drawn
from privet.mechanisms.replay import Forced, Recording, ReplayError
from privet.privacy.events import Cost, Mechanism
from privet.privacy.ledger import Ledger
from privet.privacy.terms import Allowance, Share, Terms
from privet.privacy.text import ledger_from_dict
from privet.schema.schema import Unit
from privet.tables import MemoryTable, ParquetTable
from privet.tables.features import FeatureView
from privet.tables.part import PartOf
from privet.tables.reading import encode_table
from privet.testing import seeded_noise

LABEL = Terms("label")
SCHEMA = Schema({"x": Numeric(0, 4, bins=4)}, classes=[0, 1], neighbours="label")


def table(labels=(0, 1, 1, 0)):
    codes = np.array([[0, 1, 2, 3]], np.uint8)
    return MemoryTable(SCHEMA.encoding(4), codes, np.array(labels, np.int32), unlabelled=True)


def release(terms=LABEL, outcomes=None):
    return Release(Ledger(terms, Allowance.of(1.0)), outcomes or drawn())


@dataclass(frozen=True)
class Codes:
    def __call__(self, block):
        return np.bincount(block.codes[0], minlength=4)


@dataclass(frozen=True)
class Labels:
    def __call__(self, block):
        return block.target.astype(np.int64)


@dataclass(frozen=True)
class SumOf:
    name: str

    def __call__(self, block):
        return np.array([np.asarray(block.state[self.name], np.int64).sum()])


def test_a_kernel_of_a_view_is_shown_neither_labels_nor_the_identity_of_records():
    view = FeatureView.of(table())
    assert view.aggregate(Labels()).tolist() == [-1] * 4
    assert view.aggregate(lambda block: block.rows.astype(np.int64)).tolist() == [0] * 4


def test_state_that_saw_labels_is_not_shown_whenever_it_was_derived():
    before = FeatureView.of(table().derive("label", Labels()))
    beside = FeatureView.of(table()).derive("label", Codes()).beside("label", Labels())
    for view in (before, beside):
        with pytest.raises(KeyError):
            view.aggregate(SumOf("label"))
    assert beside.table.aggregate(SumOf("label")).tolist() == [2]  # labelled kernels see it


def test_state_of_a_view_is_made_without_labels_and_seen_by_labelled_kernels_too():
    view = FeatureView.of(table()).derive("label", Labels())
    assert view.aggregate(SumOf("label")).tolist() == view.table.aggregate(SumOf("label")).tolist() == [-4]


def test_a_part_that_is_known_by_its_labels_has_no_view():
    with pytest.raises(ParameterError, match="pass all of it"):
        FeatureView.of(PartOf(table(), "part", 0))


def test_a_release_of_features_is_exact_costs_nothing_and_is_in_the_ledger():
    out = release()
    assert out.features(FeatureView.of(table()), Codes(), LABEL.free("codes")).tolist() == [1, 1, 1, 1]
    assert out.ledger.cost == Cost.nothing()
    assert "codes" in out.ledger.table(full=True)
    assert "free: looks at features only" in out.ledger.table(full=True)


@pytest.mark.parametrize("terms", [Terms(), Terms("replace"), Terms("label", 1, "person"), Terms("label", 3, "person")])
def test_under_any_other_relation_and_for_units_it_is_refused(terms):
    with pytest.raises(ParameterError, match="neighbours='label'"):
        terms.free("codes")
    out = release(terms)
    with pytest.raises(ParameterError, match="neighbours='label'"):
        out.features(FeatureView.of(table()), Codes(), LABEL.free("codes"))
    assert not out.ledger.events


def test_an_event_that_is_not_planned_as_free_is_refused():
    with pytest.raises(ParameterError, match=r"Terms\.free"):
        release().features(FeatureView.of(table()), Codes(), LABEL.noise("codes", Share(epsilon=Fraction(1))))


def test_a_replay_refuses_a_free_release_that_differs_between_neighbours():
    recording = Recording(drawn())
    peeking = FeatureView(table().derive("label", Labels()), frozenset({"label"}))  # forged
    release(outcomes=recording).features(peeking, SumOf("label"), LABEL.free("labels"))
    other = FeatureView(table((0, 1, 1, 1)).derive("label", Labels()), frozenset({"label"}))
    with pytest.raises(ReplayError, match="features only"):
        release(outcomes=Forced(recording.transcript)).features(other, SumOf("label"), LABEL.free("labels"))


def test_records_without_a_known_label_stay_where_features_are_public_and_only_there():
    def codes(neighbours, unit=None):
        schema = Schema(SCHEMA.features, SCHEMA.target, neighbours=neighbours, unit=unit)
        columns = {"x": [0.5, 1.5, 2.5, 3.5]} | ({} if unit is None else {"person": [1, 2, 3, 4]})
        frame = pd.DataFrame(columns)
        encoded = encode_table(schema, schema.encoding(4), frame, [0, 1, "?", None], lambda: b"k" * 16)
        return encoded.aggregate(Codes()).tolist()

    assert codes("label") == [1, 1, 1, 1]
    assert codes("replace") == codes("label", Unit("person", 2)) == [1, 1, 0, 0]


def test_free_events_survive_a_file():
    out = release()
    out.features(FeatureView.of(table()), Codes(), LABEL.free("codes"))
    (event,) = ledger_from_dict(out.ledger.to_dict()).events
    assert event.mechanism is Mechanism.FEATURES_ONLY
    assert event == LABEL.free("codes")


@pytest.mark.parametrize("name", ["BoostingClassifier", "RandomDecisionForestClassifier", "PrivaTreeClassifier"])
def test_a_table_of_files_gives_the_model_of_a_frame_also_with_labels_missing(name, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.uniform(0, 4, 300), "y": rng.integers(0, 2, 300).astype("float")})
    frame.loc[::5, "y"] = np.nan
    frame.to_parquet(tmp_path / "part.parquet")
    schema = Schema({"x": Numeric(0, 4)}, classes=[0, 1], neighbours="label")

    def fitted(X, y):
        with seeded_noise(1):
            return getattr(privet, name)(1.0, schema=schema, random_state=0).fit(X, y)

    files = fitted(ParquetTable(tmp_path), "y")
    assert file_text(files) == file_text(fitted(frame[["x"]], frame["y"]))
    assert files.privacy_.events[0].mechanism is Mechanism.FEATURES_ONLY


def test_a_model_without_privacy_leaves_out_records_without_a_known_label():
    frame, labels = pd.DataFrame({"x": [0.5, 1.5, 2.5, 3.5]}), [0, 1, "?", None]
    encoded = encode_table(SCHEMA, SCHEMA.encoding(4), frame, labels, lambda: b"k" * 16, private=False)
    assert encoded.aggregate(Codes()).tolist() == [1, 1, 0, 0]
