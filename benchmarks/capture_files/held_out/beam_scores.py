import torch
import torch.nn.functional as F
from torch import nn


class BeamStep(nn.Module):
    """One step of a beam search; finished beams are frozen."""

    def __init__(self, vocab=10, dim=6, eos_id=0, length_penalty=0.8):
        super().__init__()
        self.lm_head = nn.Linear(dim, vocab, bias=False)
        self.eos_id = eos_id
        self.length_penalty = length_penalty

    def forward(self, hidden, beam_scores, last_tokens, step):
        log_probs = F.log_softmax(self.lm_head(hidden), dim=-1)
        done = last_tokens == self.eos_id
        if done.any():
            log_probs = log_probs.clone()
            log_probs[done] = -1e9
            log_probs[done, self.eos_id] = 0.0
        scores = beam_scores[:, None] + log_probs
        cur_len = step.item() + 1
        if cur_len > 1:
            scores = scores / (cur_len ** self.length_penalty)
        top, flat = scores.view(-1).topk(beam_scores.size(0))
        return top, flat // log_probs.size(-1), flat % log_probs.size(-1)


model = BeamStep()

if __name__ == "__main__":
    torch.export.export(model, (torch.randn(4, 6), torch.randn(4), torch.tensor([3, 0, 5, 1]), torch.tensor(2)))
    torch.compile(model, fullgraph=True)(torch.randn(4, 6), torch.randn(4), torch.tensor([3, 0, 5, 1]), torch.tensor(2))
