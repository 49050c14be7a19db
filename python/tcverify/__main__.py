import sys

from tcverify._command import main

sys.exit(main())
