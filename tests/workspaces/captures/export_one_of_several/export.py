import torch
from models import Classifier


def main():
    model = Classifier().eval()
    program = torch.export.export(model, (torch.randn(2, 4),))
    torch.export.save(program, "classifier.pt2")


if __name__ == "__main__":
    main()
