import argparse

import torch
import models


def export_one(model, path):
    program = torch.export.export(model.eval(), (torch.randn(2, 4),))
    torch.export.save(program, path)


def main(folder):
    for name, model in [("gate", models.Gate()), ("long", models.Long())]:
        export_one(model, f"{folder}/{name}.pt2")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    main(parser.parse_args().folder)
