"""The paper's training objective: six terms on the prediction and one on the auxiliary head."""
