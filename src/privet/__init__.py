"""privet: differentially private decision trees and forests, proven and audited."""
