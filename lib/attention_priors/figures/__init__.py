"""FIGURES and TABLES: every figure and table of the project by name, each a function of one frame.

To add one, write `figures/<topic>/<what>.py` with a FIGURE or a TABLE in it, and its row here.
"""

from attention_priors.figures.spec import LEDGER, FigureSpec, TableSpec
from attention_priors.registry import Table

FIGURES = Table(
    "figure",
    "attention_priors.figures",
    {
        "classification_rank": "groups.classification_rank:FIGURE",
        "groups_factors": "groups.factors:FIGURE",
        "groups_hands": "groups.hands:FIGURE",
        "groups_portraits": "groups.portraits:FIGURE",
        "groups_pucks": "groups.pucks:FIGURE",
        "guide_buckets": "guide.buckets:FIGURE",
        "guide_decay": "guide.decay:FIGURE",
        "key_slope_rounding": "guide.key_slope_rounding:FIGURE",
        "guide_page": "guide.page:FIGURE",
        "guide_sandwich": "guide.sandwich:FIGURE",
        "guide_turns": "guide.turns:FIGURE",
        "inference_readings_of_z": "inference.readings_of_z:FIGURE",
        "inference_score_matrices": "inference.score_matrices:FIGURE",
        "inference_transport": "inference.transport:FIGURE",
        "kernel_backends": "kernel.backends:FIGURE",
        "kernel_errors": "kernel.errors:FIGURE",
        "kernel_instructions": "kernel.instructions:FIGURE",
        "kernel_low_precision": "kernel.low_precision:FIGURE",
        "kernel_speed": "kernel.speed:FIGURE",
        "kernel_tiles": "kernel.tiles:FIGURE",
        "parallel_averages": "parallel.averages:FIGURE",
        "parallel_budget": "parallel.budget:FIGURE",
        "parallel_calibration": "parallel.calibration:FIGURE",
        "parallel_counts": "parallel.counts:FIGURE",
        "parallel_dimension": "parallel.dimension:FIGURE",
        "parallel_gains": "parallel.gains:FIGURE",
        "parallel_margin": "parallel.margin:FIGURE",
        "parallel_prior": "parallel.prior:FIGURE",
        "phase_content": "phase.content:FIGURE",
        "phase_exponents": "phase.exponents:FIGURE",
        "phase_heads": "phase.heads:FIGURE",
        "phase_limits": "phase.limits:FIGURE",
        "phase_margins": "phase.margins:FIGURE",
        "phase_models": "phase.models:FIGURE",
        "phase_planes": "phase.planes:FIGURE",
        "prior_epsilon": "prior.epsilon:FIGURE",
        "prior_far_end": "prior.far_end:FIGURE",
        "prior_gradients": "prior.gradients:FIGURE",
        "prior_scaled": "prior.scaled:FIGURE",
        "prior_shapes": "prior.shapes:FIGURE",
        "prior_sharpness": "prior.sharpness:FIGURE",
        "softmax_fading": "prior.softmax_fading:FIGURE",
        "prior_tails": "prior.tails:FIGURE",
        "rotation_maps": "rotation.maps:FIGURE",
        "rotation_scores": "rotation.scores:FIGURE",
        "rotation_sinusoids": "rotation.sinusoids:FIGURE",
        "rotation_spectra": "rotation.spectra:FIGURE",
        "spectra_band": "spectra.band:FIGURE",
        "spectra_beyond": "spectra.beyond:FIGURE",
        "spectra_fits": "spectra.fits:FIGURE",
        "spectra_shapes": "spectra.shapes:FIGURE",
        "spectra_sinks": "spectra.sinks:FIGURE",
        "ssmax_entropy": "ssmax.entropy:FIGURE",
        "ssmax_leads": "ssmax.leads:FIGURE",
        "ssmax_priors": "ssmax.priors:FIGURE",
    },
)
TABLES = Table(
    "table",
    "attention_priors.figures",
    {
        "guide_priors": "guide.priors:TABLE",
        "guide_properties": "guide.properties:TABLE",
        "kernel_speed": "kernel.speed:TABLE",
        "spectra_fits": "spectra.fits:TABLE",
    },
)

__all__ = ["FIGURES", "LEDGER", "TABLES", "FigureSpec", "TableSpec"]
