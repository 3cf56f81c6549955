"""The filters of the template language, such as `| currency: 'EUR'`."""
