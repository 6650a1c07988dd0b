from .network import Segmenter as Segmenter
