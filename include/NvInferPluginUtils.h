// SPDX-License-Identifier: Apache-2.0
//
//! \file
//! Parameter structures of the standard plugin library.
#pragma once

#include "NvInferRuntimeCommon.h"

// The headers themselves may name what is deprecated; only its use elsewhere shall be warned about.
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif

namespace nvinfer1 {
namespace plugin {

//! Attributes of the PriorBox plugin, which lays boxes over a feature map.
struct PriorBoxParameters {
  //! Smallest sides of the boxes, in pixels of the image.
  float* minSize;
  //! Largest sides of the boxes.
  float* maxSize;
  //! Ratios of width to height.
  float* aspectRatios;
  //! Length of minSize.
  int32_t numMinSize;
  //! Length of maxSize; 0 or numMinSize.
  int32_t numMaxSize;
  //! Length of aspectRatios.
  int32_t numAspectRatios;
  //! Whether each ratio is also used upside down.
  bool flip;
  //! Whether boxes end at the border of the image.
  bool clip;
  //! Divisors of the four coordinates.
  float variance[4];
  //! Height of the image; 0 for that of the input.
  int32_t imgH;
  //! Width of the image; 0 for that of the input.
  int32_t imgW;
  //! Distance of the boxes downwards; 0 for image height over map height.
  float stepH;
  //! Distance of the boxes sideways; 0 for image width over map width.
  float stepW;
  //! Where in its cell a box is centred; 0.5 is the middle.
  float offset;
};

//! Attributes of the plugin that proposes regions and pools over them.
struct RPROIParams {
  //! Height of the pooled region.
  int32_t poolingH;
  //! Width of the pooled region.
  int32_t poolingW;
  //! Pixels of the image for one of the feature map.
  int32_t featureStride;
  //! Proposals kept before boxes are suppressed.
  int32_t preNmsTop;
  //! Proposals kept after that.
  int32_t nmsMaxOut;
  //! How many ratios anchors have.
  int32_t anchorsRatioCount;
  //! How many scales anchors have.
  int32_t anchorsScaleCount;
  //! Overlap from which a box is suppressed.
  float iouThreshold;
  //! Smallest side of a proposal, in pixels of the image.
  float minBoxSize;
  //! Pixels of the feature map for one of the image.
  float spatialScale;
};

//! Attributes of the plugin that lays anchors over one feature map.
struct GridAnchorParameters {
  //! Scale of the anchors of the first map.
  float minSize;
  //! Scale of the anchors of the last map.
  float maxSize;
  //! Ratios of width to height.
  float* aspectRatios;
  //! Length of aspectRatios.
  int32_t numAspectRatios;
  //! Height of the feature map.
  int32_t H;
  //! Width of the feature map.
  int32_t W;
  //! Divisors of the four coordinates.
  float variance[4];
};

//! How boxes are given as differences from prior boxes.
enum class CodeTypeSSD : int32_t {
  CORNER TRT_DEPRECATED_ENUM = 0,       //!< Differences of the corners.
  CENTER_SIZE TRT_DEPRECATED_ENUM = 1,  //!< Differences of the centre and logarithms of the sides.
  CORNER_SIZE TRT_DEPRECATED_ENUM = 2,  //!< Differences of the corners in units of the sides.
  TF_CENTER TRT_DEPRECATED_ENUM = 3,    //!< As CENTER_SIZE, with y before x.
};

//! Attributes of the plugin that turns scores and box differences into detections.
//! \deprecated Since 10.0.
struct TRT_DEPRECATED DetectionOutputParameters {
  //! Whether all classes share one set of boxes.
  bool shareLocation;
  //! Whether the differences are already divided by the variances.
  bool varianceEncodedInTarget;
  //! The class that is no detection; -1 for none.
  int32_t backgroundLabelId;
  //! Number of classes, with the background.
  int32_t numClasses;
  //! Candidates per class before boxes are suppressed.
  int32_t topK;
  //! Detections per image after that.
  int32_t keepTopK;
  //! Lowest score of a candidate.
  float confidenceThreshold;
  //! Overlap from which a box is suppressed.
  float nmsThreshold;
  //! How the boxes are given.
  CodeTypeSSD codeType;
  //! Which input is the locations, the scores, and the prior boxes.
  int32_t inputOrder[3];
  //! Whether the scores go through a sigmoid first.
  bool confSigmoid;
  //! Whether coordinates run from 0 to 1.
  bool isNormalized;
  //! Whether the prior boxes are the same for the whole batch.
  bool isBatchAgnostic{true};
};

//! A hierarchy of classes, each group of siblings having a softmax of its own.
struct softmaxTree {
  //! Whether a class is a leaf.
  int32_t* leaf;
  //! Number of classes.
  int32_t n;
  //! The parent of each class, -1 at the root.
  int32_t* parent;
  //! The group of children of each class.
  int32_t* child;
  //! The group of each class.
  int32_t* group;
  //! The name of each class.
  char** name;
  //! Number of groups.
  int32_t groups;
  //! Number of classes in each group.
  int32_t* groupSize;
  //! First class of each group.
  int32_t* groupOffset;
};

//! Attributes of the Region plugin.
struct RegionParameters {
  //! Boxes per cell.
  int32_t num;
  //! Coordinates per box.
  int32_t coords;
  //! Number of classes.
  int32_t classes;
  //! The hierarchy of the classes; nullptr for none.
  softmaxTree* smTree;
};

//! Attributes of the plugins that suppress overlapping boxes.
//! \deprecated Since 10.0.
struct TRT_DEPRECATED NMSParameters {
  //! Whether all classes share one set of boxes.
  bool shareLocation;
  //! The class that is no detection; -1 for none.
  int32_t backgroundLabelId;
  //! Number of classes, with the background.
  int32_t numClasses;
  //! Candidates per class before boxes are suppressed.
  int32_t topK;
  //! Detections per image after that.
  int32_t keepTopK;
  //! Lowest score of a candidate.
  float scoreThreshold;
  //! Overlap from which a box is suppressed.
  float iouThreshold;
  //! Whether coordinates run from 0 to 1.
  bool isNormalized;
};

}  // namespace plugin
}  // namespace nvinfer1

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
