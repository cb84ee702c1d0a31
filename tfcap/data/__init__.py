"""Data sets, the embedded world, image features and batches."""

from tfcap.data.backbones import Backbone
from tfcap.data.backbones import keras_cv_backbone
from tfcap.data.backbones import keras_hub_backbone
from tfcap.data.backbones import vgg19_backbone
from tfcap.data.caption_batches import CaptionBatches
from tfcap.data.caption_split import CaptionSplit
from tfcap.data.coco_captions import load_captions
from tfcap.data.coco_results import load_results
from tfcap.data.coco_results import match_results
from tfcap.data.dialog_batches import DialogBatches
from tfcap.data.encoded_captions import EncodedCaptions
from tfcap.data.encoded_captions import build_caption_vocabulary
from tfcap.data.encoded_dialogs import EncodedDialogs
from tfcap.data.encoded_dialogs import build_vocabulary
from tfcap.data.extraction import extract_features
from tfcap.data.feature_writer import FeatureWriter
from tfcap.data.features import load_features
from tfcap.data.flickr_captions import load_flickr_captions
from tfcap.data.image_lists import read_image_ids
from tfcap.data.image_paths import coco_image_path
from tfcap.data.standardized_features import StandardizedFeatures
from tfcap.data.standardized_features import standardize_features
from tfcap.data.tokenize_captions import tokenize_captions
from tfcap.data.visdial import load_visdial
from tfcap.data.visdial_split import VisDialSplit
from tfcap.data.visdial_split import paper_split
