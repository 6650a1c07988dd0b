import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldTexts } from "../input_field";
import { graph } from "./graphs";

const COUNTED = { ...graph([]), input: "x: [1, 3, 224, 224]" };

test("the empty field shows the input that the graph is for", () => {
  assert.deepEqual(fieldTexts(COUNTED), { placeholder: "x: [1, 3, 224, 224]", status: "", isInvalid: false });
  assert.match(fieldTexts(graph([])).placeholder, /^torch\.rand\(/);
});

test("beside the field is whether the input is still counted for, or why it can't be", () => {
  const told = (pending: boolean, problem: string | null) => fieldTexts({ ...COUNTED, chosen: { pending, problem } });
  assert.deepEqual([told(true, null).status, told(true, null).isInvalid], ["Counting…", false]);
  const refused = told(false, "the model does not accept it");
  assert.deepEqual([refused.status, refused.isInvalid], ["Not counted: the model does not accept it", true]);
  assert.equal(told(false, null).status, "");
});
