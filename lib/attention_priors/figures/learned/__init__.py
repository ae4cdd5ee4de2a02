"""What BAM's heads learned: exponents and where they look (BAM, Fig. 4), and what editing them does."""
