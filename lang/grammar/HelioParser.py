# Generated from Helio.g4 by ANTLR 4.13.2
# encoding: utf-8
from antlr4 import *
from io import StringIO
import sys
if sys.version_info[1] > 5:
	from typing import TextIO
else:
	from typing.io import TextIO

def serializedATN():
    return [
        4,1,86,679,2,0,7,0,2,1,7,1,2,2,7,2,2,3,7,3,2,4,7,4,2,5,7,5,2,6,7,
        6,2,7,7,7,2,8,7,8,2,9,7,9,2,10,7,10,2,11,7,11,2,12,7,12,2,13,7,13,
        2,14,7,14,2,15,7,15,2,16,7,16,2,17,7,17,2,18,7,18,2,19,7,19,2,20,
        7,20,2,21,7,21,2,22,7,22,2,23,7,23,2,24,7,24,2,25,7,25,2,26,7,26,
        2,27,7,27,2,28,7,28,2,29,7,29,2,30,7,30,2,31,7,31,2,32,7,32,2,33,
        7,33,2,34,7,34,2,35,7,35,2,36,7,36,2,37,7,37,2,38,7,38,2,39,7,39,
        2,40,7,40,2,41,7,41,2,42,7,42,2,43,7,43,2,44,7,44,2,45,7,45,2,46,
        7,46,2,47,7,47,2,48,7,48,2,49,7,49,2,50,7,50,2,51,7,51,1,0,5,0,106,
        8,0,10,0,12,0,109,9,0,1,0,1,0,5,0,113,8,0,10,0,12,0,116,9,0,1,0,
        1,0,1,1,1,1,1,1,1,1,5,1,124,8,1,10,1,12,1,127,9,1,1,2,3,2,130,8,
        2,1,2,1,2,1,2,1,2,5,2,136,8,2,10,2,12,2,139,9,2,1,2,1,2,1,3,3,3,
        144,8,3,1,3,1,3,1,3,1,3,1,3,1,3,3,3,152,8,3,1,3,1,3,1,3,1,3,1,3,
        3,3,159,8,3,1,3,1,3,1,3,1,3,5,3,165,8,3,10,3,12,3,168,9,3,1,3,1,
        3,3,3,172,8,3,1,4,3,4,175,8,4,1,4,1,4,1,4,1,5,1,5,1,5,3,5,183,8,
        5,1,5,1,5,5,5,187,8,5,10,5,12,5,190,9,5,1,5,3,5,193,8,5,1,6,1,6,
        1,6,1,6,1,6,1,6,3,6,201,8,6,3,6,203,8,6,1,7,1,7,1,7,1,7,5,7,209,
        8,7,10,7,12,7,212,9,7,1,7,1,7,1,8,1,8,1,8,1,8,1,8,1,8,1,8,1,8,1,
        8,3,8,225,8,8,1,9,1,9,1,9,1,10,1,10,1,10,5,10,233,8,10,10,10,12,
        10,236,9,10,1,10,1,10,1,11,1,11,1,11,1,11,1,11,3,11,245,8,11,1,11,
        1,11,1,11,1,11,5,11,251,8,11,10,11,12,11,254,9,11,3,11,256,8,11,
        1,11,1,11,1,11,1,11,5,11,262,8,11,10,11,12,11,265,9,11,3,11,267,
        8,11,1,11,1,11,3,11,271,8,11,1,12,1,12,1,12,1,12,1,12,5,12,278,8,
        12,10,12,12,12,281,9,12,1,13,1,13,1,13,1,13,1,13,3,13,288,8,13,1,
        14,1,14,1,14,1,14,1,14,1,14,1,14,1,14,5,14,298,8,14,10,14,12,14,
        301,9,14,1,14,1,14,1,14,1,14,5,14,307,8,14,10,14,12,14,310,9,14,
        1,14,1,14,3,14,314,8,14,1,15,1,15,1,15,1,15,1,16,1,16,1,16,1,16,
        1,16,1,16,3,16,326,8,16,1,16,1,16,5,16,330,8,16,10,16,12,16,333,
        9,16,1,16,1,16,1,17,1,17,4,17,339,8,17,11,17,12,17,340,1,17,1,17,
        1,17,1,17,4,17,347,8,17,11,17,12,17,348,1,17,1,17,4,17,353,8,17,
        11,17,12,17,354,3,17,357,8,17,1,17,1,17,1,17,1,17,1,17,1,17,1,17,
        1,17,1,17,3,17,368,8,17,1,17,1,17,1,17,1,17,1,17,1,17,1,17,3,17,
        377,8,17,1,18,1,18,1,18,1,18,1,19,1,19,1,19,1,20,1,20,1,20,1,20,
        1,20,1,20,1,20,1,21,1,21,1,21,1,21,1,22,1,22,1,22,1,22,1,22,1,22,
        1,23,1,23,1,23,1,23,5,23,407,8,23,10,23,12,23,410,9,23,1,24,1,24,
        5,24,414,8,24,10,24,12,24,417,9,24,1,24,1,24,1,25,1,25,1,25,1,25,
        1,25,1,25,1,25,1,25,5,25,429,8,25,10,25,12,25,432,9,25,1,25,1,25,
        3,25,436,8,25,1,25,3,25,439,8,25,1,25,1,25,1,25,1,25,1,25,3,25,446,
        8,25,1,25,1,25,1,25,1,25,5,25,452,8,25,10,25,12,25,455,9,25,1,25,
        1,25,3,25,459,8,25,1,25,1,25,1,25,1,25,1,25,1,25,1,25,1,25,1,25,
        1,25,1,25,1,25,1,25,1,25,1,25,1,25,1,25,1,25,5,25,479,8,25,10,25,
        12,25,482,9,25,1,25,1,25,3,25,486,8,25,3,25,488,8,25,1,26,1,26,1,
        26,1,26,5,26,494,8,26,10,26,12,26,497,9,26,1,27,1,27,1,27,3,27,502,
        8,27,1,27,1,27,1,28,1,28,1,28,1,28,5,28,510,8,28,10,28,12,28,513,
        9,28,1,28,1,28,1,29,1,29,3,29,519,8,29,1,29,1,29,1,29,3,29,524,8,
        29,1,29,3,29,527,8,29,1,30,1,30,1,30,1,31,1,31,1,31,1,31,1,31,5,
        31,537,8,31,10,31,12,31,540,9,31,3,31,542,8,31,1,31,3,31,545,8,31,
        1,32,1,32,1,32,1,32,1,33,1,33,1,33,1,33,1,33,1,33,1,33,3,33,558,
        8,33,1,34,1,34,1,34,5,34,563,8,34,10,34,12,34,566,9,34,1,35,1,35,
        1,35,5,35,571,8,35,10,35,12,35,574,9,35,1,36,5,36,577,8,36,10,36,
        12,36,580,9,36,1,36,1,36,1,37,1,37,1,37,1,37,1,37,1,37,1,37,5,37,
        591,8,37,10,37,12,37,594,9,37,1,38,1,38,1,38,5,38,599,8,38,10,38,
        12,38,602,9,38,1,39,1,39,1,39,5,39,607,8,39,10,39,12,39,610,9,39,
        1,40,1,40,1,40,1,40,1,40,1,40,1,40,1,40,3,40,620,8,40,1,40,1,40,
        1,40,5,40,625,8,40,10,40,12,40,628,9,40,3,40,630,8,40,3,40,632,8,
        40,1,41,1,41,1,41,3,41,637,8,41,1,41,1,41,1,42,1,42,1,42,5,42,644,
        8,42,10,42,12,42,647,9,42,1,43,1,43,1,43,5,43,652,8,43,10,43,12,
        43,655,9,43,1,44,1,44,1,44,5,44,660,8,44,10,44,12,44,663,9,44,1,
        45,1,45,1,46,1,46,1,47,1,47,1,48,1,48,1,49,1,49,1,50,1,50,1,51,1,
        51,1,51,0,0,52,0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30,32,34,
        36,38,40,42,44,46,48,50,52,54,56,58,60,62,64,66,68,70,72,74,76,78,
        80,82,84,86,88,90,92,94,96,98,100,102,0,11,1,0,8,11,1,0,38,39,2,
        0,14,14,69,73,1,0,75,76,2,0,28,28,77,79,1,0,81,82,16,0,3,4,8,12,
        17,17,19,20,24,24,31,31,35,36,38,39,41,41,48,48,51,51,53,53,56,56,
        64,64,66,66,80,80,15,0,3,4,17,17,19,20,24,24,31,31,35,36,38,39,41,
        41,48,48,51,51,53,53,56,56,64,64,66,66,80,80,15,0,3,4,8,12,17,17,
        19,20,31,31,35,36,38,39,41,41,48,48,51,51,53,53,56,56,64,64,66,66,
        80,80,15,0,3,4,8,12,17,17,19,20,24,24,31,31,35,36,41,41,48,48,51,
        51,53,53,56,56,64,64,66,66,80,80,15,0,3,4,8,12,17,17,19,20,24,24,
        31,31,35,36,38,39,41,41,48,48,53,53,56,56,64,64,66,66,80,80,728,
        0,107,1,0,0,0,2,119,1,0,0,0,4,129,1,0,0,0,6,171,1,0,0,0,8,174,1,
        0,0,0,10,179,1,0,0,0,12,194,1,0,0,0,14,204,1,0,0,0,16,224,1,0,0,
        0,18,226,1,0,0,0,20,229,1,0,0,0,22,239,1,0,0,0,24,272,1,0,0,0,26,
        282,1,0,0,0,28,289,1,0,0,0,30,315,1,0,0,0,32,319,1,0,0,0,34,376,
        1,0,0,0,36,378,1,0,0,0,38,382,1,0,0,0,40,385,1,0,0,0,42,392,1,0,
        0,0,44,396,1,0,0,0,46,402,1,0,0,0,48,411,1,0,0,0,50,487,1,0,0,0,
        52,489,1,0,0,0,54,498,1,0,0,0,56,505,1,0,0,0,58,516,1,0,0,0,60,528,
        1,0,0,0,62,531,1,0,0,0,64,546,1,0,0,0,66,557,1,0,0,0,68,559,1,0,
        0,0,70,567,1,0,0,0,72,578,1,0,0,0,74,583,1,0,0,0,76,595,1,0,0,0,
        78,603,1,0,0,0,80,631,1,0,0,0,82,633,1,0,0,0,84,640,1,0,0,0,86,648,
        1,0,0,0,88,656,1,0,0,0,90,664,1,0,0,0,92,666,1,0,0,0,94,668,1,0,
        0,0,96,670,1,0,0,0,98,672,1,0,0,0,100,674,1,0,0,0,102,676,1,0,0,
        0,104,106,3,2,1,0,105,104,1,0,0,0,106,109,1,0,0,0,107,105,1,0,0,
        0,107,108,1,0,0,0,108,114,1,0,0,0,109,107,1,0,0,0,110,113,3,4,2,
        0,111,113,3,14,7,0,112,110,1,0,0,0,112,111,1,0,0,0,113,116,1,0,0,
        0,114,112,1,0,0,0,114,115,1,0,0,0,115,117,1,0,0,0,116,114,1,0,0,
        0,117,118,5,0,0,1,118,1,1,0,0,0,119,120,5,1,0,0,120,125,3,86,43,
        0,121,122,5,2,0,0,122,124,3,86,43,0,123,121,1,0,0,0,124,127,1,0,
        0,0,125,123,1,0,0,0,125,126,1,0,0,0,126,3,1,0,0,0,127,125,1,0,0,
        0,128,130,5,3,0,0,129,128,1,0,0,0,129,130,1,0,0,0,130,131,1,0,0,
        0,131,132,5,4,0,0,132,133,3,94,47,0,133,137,5,5,0,0,134,136,3,6,
        3,0,135,134,1,0,0,0,136,139,1,0,0,0,137,135,1,0,0,0,137,138,1,0,
        0,0,138,140,1,0,0,0,139,137,1,0,0,0,140,141,5,6,0,0,141,5,1,0,0,
        0,142,144,3,96,48,0,143,142,1,0,0,0,143,144,1,0,0,0,144,145,1,0,
        0,0,145,146,5,7,0,0,146,172,3,10,5,0,147,151,7,0,0,0,148,149,5,7,
        0,0,149,152,3,10,5,0,150,152,3,68,34,0,151,148,1,0,0,0,151,150,1,
        0,0,0,152,172,1,0,0,0,153,158,5,12,0,0,154,155,5,7,0,0,155,159,3,
        10,5,0,156,157,5,13,0,0,157,159,3,68,34,0,158,154,1,0,0,0,158,156,
        1,0,0,0,159,172,1,0,0,0,160,161,5,13,0,0,161,162,3,94,47,0,162,166,
        5,5,0,0,163,165,3,8,4,0,164,163,1,0,0,0,165,168,1,0,0,0,166,164,
        1,0,0,0,166,167,1,0,0,0,167,169,1,0,0,0,168,166,1,0,0,0,169,170,
        5,6,0,0,170,172,1,0,0,0,171,143,1,0,0,0,171,147,1,0,0,0,171,153,
        1,0,0,0,171,160,1,0,0,0,172,7,1,0,0,0,173,175,3,94,47,0,174,173,
        1,0,0,0,174,175,1,0,0,0,175,176,1,0,0,0,176,177,5,7,0,0,177,178,
        3,10,5,0,178,9,1,0,0,0,179,182,3,12,6,0,180,181,5,14,0,0,181,183,
        3,76,38,0,182,180,1,0,0,0,182,183,1,0,0,0,183,192,1,0,0,0,184,188,
        5,5,0,0,185,187,3,8,4,0,186,185,1,0,0,0,187,190,1,0,0,0,188,186,
        1,0,0,0,188,189,1,0,0,0,189,191,1,0,0,0,190,188,1,0,0,0,191,193,
        5,6,0,0,192,184,1,0,0,0,192,193,1,0,0,0,193,11,1,0,0,0,194,202,3,
        94,47,0,195,196,5,15,0,0,196,197,3,76,38,0,197,200,5,16,0,0,198,
        199,5,17,0,0,199,201,3,90,45,0,200,198,1,0,0,0,200,201,1,0,0,0,201,
        203,1,0,0,0,202,195,1,0,0,0,202,203,1,0,0,0,203,13,1,0,0,0,204,205,
        5,18,0,0,205,206,3,94,47,0,206,210,5,5,0,0,207,209,3,16,8,0,208,
        207,1,0,0,0,209,212,1,0,0,0,210,208,1,0,0,0,210,211,1,0,0,0,211,
        213,1,0,0,0,212,210,1,0,0,0,213,214,5,6,0,0,214,15,1,0,0,0,215,225,
        3,18,9,0,216,225,3,20,10,0,217,225,3,28,14,0,218,225,3,32,16,0,219,
        225,3,38,19,0,220,225,3,40,20,0,221,225,3,42,21,0,222,225,3,44,22,
        0,223,225,3,46,23,0,224,215,1,0,0,0,224,216,1,0,0,0,224,217,1,0,
        0,0,224,218,1,0,0,0,224,219,1,0,0,0,224,220,1,0,0,0,224,221,1,0,
        0,0,224,222,1,0,0,0,224,223,1,0,0,0,225,17,1,0,0,0,226,227,5,19,
        0,0,227,228,3,88,44,0,228,19,1,0,0,0,229,230,5,20,0,0,230,234,5,
        5,0,0,231,233,3,22,11,0,232,231,1,0,0,0,233,236,1,0,0,0,234,232,
        1,0,0,0,234,235,1,0,0,0,235,237,1,0,0,0,236,234,1,0,0,0,237,238,
        5,6,0,0,238,21,1,0,0,0,239,240,3,98,49,0,240,241,5,21,0,0,241,244,
        3,94,47,0,242,243,5,22,0,0,243,245,3,94,47,0,244,242,1,0,0,0,244,
        245,1,0,0,0,245,255,1,0,0,0,246,247,5,13,0,0,247,252,3,24,12,0,248,
        249,5,23,0,0,249,251,3,24,12,0,250,248,1,0,0,0,251,254,1,0,0,0,252,
        250,1,0,0,0,252,253,1,0,0,0,253,256,1,0,0,0,254,252,1,0,0,0,255,
        246,1,0,0,0,255,256,1,0,0,0,256,266,1,0,0,0,257,258,5,24,0,0,258,
        263,3,92,46,0,259,260,5,2,0,0,260,262,3,92,46,0,261,259,1,0,0,0,
        262,265,1,0,0,0,263,261,1,0,0,0,263,264,1,0,0,0,264,267,1,0,0,0,
        265,263,1,0,0,0,266,257,1,0,0,0,266,267,1,0,0,0,267,270,1,0,0,0,
        268,269,5,25,0,0,269,271,3,88,44,0,270,268,1,0,0,0,270,271,1,0,0,
        0,271,23,1,0,0,0,272,273,3,94,47,0,273,274,5,14,0,0,274,279,3,26,
        13,0,275,276,5,26,0,0,276,278,3,26,13,0,277,275,1,0,0,0,278,281,
        1,0,0,0,279,277,1,0,0,0,279,280,1,0,0,0,280,25,1,0,0,0,281,279,1,
        0,0,0,282,287,3,92,46,0,283,284,5,27,0,0,284,288,3,92,46,0,285,286,
        5,28,0,0,286,288,3,92,46,0,287,283,1,0,0,0,287,285,1,0,0,0,287,288,
        1,0,0,0,288,27,1,0,0,0,289,290,5,29,0,0,290,291,3,94,47,0,291,292,
        5,14,0,0,292,293,3,90,45,0,293,294,5,2,0,0,294,299,3,94,47,0,295,
        296,5,26,0,0,296,298,3,94,47,0,297,295,1,0,0,0,298,301,1,0,0,0,299,
        297,1,0,0,0,299,300,1,0,0,0,300,313,1,0,0,0,301,299,1,0,0,0,302,
        303,5,5,0,0,303,308,3,30,15,0,304,305,5,2,0,0,305,307,3,30,15,0,
        306,304,1,0,0,0,307,310,1,0,0,0,308,306,1,0,0,0,308,309,1,0,0,0,
        309,311,1,0,0,0,310,308,1,0,0,0,311,312,5,6,0,0,312,314,1,0,0,0,
        313,302,1,0,0,0,313,314,1,0,0,0,314,29,1,0,0,0,315,316,3,94,47,0,
        316,317,5,14,0,0,317,318,3,90,45,0,318,31,1,0,0,0,319,320,5,30,0,
        0,320,321,3,94,47,0,321,322,5,15,0,0,322,323,3,90,45,0,323,325,5,
        16,0,0,324,326,5,31,0,0,325,324,1,0,0,0,325,326,1,0,0,0,326,327,
        1,0,0,0,327,331,5,5,0,0,328,330,3,34,17,0,329,328,1,0,0,0,330,333,
        1,0,0,0,331,329,1,0,0,0,331,332,1,0,0,0,332,334,1,0,0,0,333,331,
        1,0,0,0,334,335,5,6,0,0,335,33,1,0,0,0,336,338,5,32,0,0,337,339,
        3,36,18,0,338,337,1,0,0,0,339,340,1,0,0,0,340,338,1,0,0,0,340,341,
        1,0,0,0,341,377,1,0,0,0,342,343,5,33,0,0,343,356,3,94,47,0,344,345,
        5,2,0,0,345,347,3,94,47,0,346,344,1,0,0,0,347,348,1,0,0,0,348,346,
        1,0,0,0,348,349,1,0,0,0,349,357,1,0,0,0,350,351,5,26,0,0,351,353,
        3,94,47,0,352,350,1,0,0,0,353,354,1,0,0,0,354,352,1,0,0,0,354,355,
        1,0,0,0,355,357,1,0,0,0,356,346,1,0,0,0,356,352,1,0,0,0,356,357,
        1,0,0,0,357,377,1,0,0,0,358,359,5,34,0,0,359,360,3,94,47,0,360,361,
        5,15,0,0,361,362,3,90,45,0,362,363,5,27,0,0,363,364,3,90,45,0,364,
        367,5,16,0,0,365,366,5,35,0,0,366,368,3,94,47,0,367,365,1,0,0,0,
        367,368,1,0,0,0,368,369,1,0,0,0,369,370,5,36,0,0,370,371,3,82,41,
        0,371,377,1,0,0,0,372,373,5,37,0,0,373,377,3,88,44,0,374,375,7,1,
        0,0,375,377,3,94,47,0,376,336,1,0,0,0,376,342,1,0,0,0,376,358,1,
        0,0,0,376,372,1,0,0,0,376,374,1,0,0,0,377,35,1,0,0,0,378,379,3,100,
        50,0,379,380,3,94,47,0,380,381,3,86,43,0,381,37,1,0,0,0,382,383,
        5,40,0,0,383,384,3,66,33,0,384,39,1,0,0,0,385,386,5,41,0,0,386,387,
        3,94,47,0,387,388,5,42,0,0,388,389,3,94,47,0,389,390,5,43,0,0,390,
        391,3,48,24,0,391,41,1,0,0,0,392,393,5,44,0,0,393,394,3,94,47,0,
        394,395,3,48,24,0,395,43,1,0,0,0,396,397,5,25,0,0,397,398,3,94,47,
        0,398,399,5,5,0,0,399,400,3,66,33,0,400,401,5,6,0,0,401,45,1,0,0,
        0,402,403,5,45,0,0,403,408,3,94,47,0,404,405,5,21,0,0,405,407,3,
        94,47,0,406,404,1,0,0,0,407,410,1,0,0,0,408,406,1,0,0,0,408,409,
        1,0,0,0,409,47,1,0,0,0,410,408,1,0,0,0,411,415,5,5,0,0,412,414,3,
        50,25,0,413,412,1,0,0,0,414,417,1,0,0,0,415,413,1,0,0,0,415,416,
        1,0,0,0,416,418,1,0,0,0,417,415,1,0,0,0,418,419,5,6,0,0,419,49,1,
        0,0,0,420,488,3,52,26,0,421,488,3,56,28,0,422,423,5,46,0,0,423,435,
        3,94,47,0,424,425,5,42,0,0,425,430,3,64,32,0,426,427,5,2,0,0,427,
        429,3,64,32,0,428,426,1,0,0,0,429,432,1,0,0,0,430,428,1,0,0,0,430,
        431,1,0,0,0,431,433,1,0,0,0,432,430,1,0,0,0,433,434,5,43,0,0,434,
        436,1,0,0,0,435,424,1,0,0,0,435,436,1,0,0,0,436,438,1,0,0,0,437,
        439,3,60,30,0,438,437,1,0,0,0,438,439,1,0,0,0,439,488,1,0,0,0,440,
        441,5,47,0,0,441,442,3,94,47,0,442,443,5,48,0,0,443,445,3,86,43,
        0,444,446,3,60,30,0,445,444,1,0,0,0,445,446,1,0,0,0,446,488,1,0,
        0,0,447,448,5,49,0,0,448,453,3,62,31,0,449,450,5,50,0,0,450,452,
        3,62,31,0,451,449,1,0,0,0,452,455,1,0,0,0,453,451,1,0,0,0,453,454,
        1,0,0,0,454,458,1,0,0,0,455,453,1,0,0,0,456,457,5,51,0,0,457,459,
        3,94,47,0,458,456,1,0,0,0,458,459,1,0,0,0,459,488,1,0,0,0,460,461,
        5,52,0,0,461,462,5,53,0,0,462,488,3,94,47,0,463,464,5,54,0,0,464,
        488,3,94,47,0,465,466,5,55,0,0,466,467,3,86,43,0,467,468,5,56,0,
        0,468,469,3,86,43,0,469,488,1,0,0,0,470,488,3,66,33,0,471,485,3,
        102,51,0,472,473,5,42,0,0,473,474,3,94,47,0,474,475,5,43,0,0,475,
        486,1,0,0,0,476,477,5,57,0,0,477,479,3,94,47,0,478,476,1,0,0,0,479,
        482,1,0,0,0,480,478,1,0,0,0,480,481,1,0,0,0,481,483,1,0,0,0,482,
        480,1,0,0,0,483,484,5,14,0,0,484,486,3,76,38,0,485,472,1,0,0,0,485,
        480,1,0,0,0,486,488,1,0,0,0,487,420,1,0,0,0,487,421,1,0,0,0,487,
        422,1,0,0,0,487,440,1,0,0,0,487,447,1,0,0,0,487,460,1,0,0,0,487,
        463,1,0,0,0,487,465,1,0,0,0,487,470,1,0,0,0,487,471,1,0,0,0,488,
        51,1,0,0,0,489,490,5,58,0,0,490,491,3,68,34,0,491,495,3,48,24,0,
        492,494,3,54,27,0,493,492,1,0,0,0,494,497,1,0,0,0,495,493,1,0,0,
        0,495,496,1,0,0,0,496,53,1,0,0,0,497,495,1,0,0,0,498,501,5,59,0,
        0,499,500,5,58,0,0,500,502,3,68,34,0,501,499,1,0,0,0,501,502,1,0,
        0,0,502,503,1,0,0,0,503,504,3,48,24,0,504,55,1,0,0,0,505,506,5,32,
        0,0,506,507,3,86,43,0,507,511,5,5,0,0,508,510,3,58,29,0,509,508,
        1,0,0,0,510,513,1,0,0,0,511,509,1,0,0,0,511,512,1,0,0,0,512,514,
        1,0,0,0,513,511,1,0,0,0,514,515,5,6,0,0,515,57,1,0,0,0,516,518,3,
        102,51,0,517,519,3,94,47,0,518,517,1,0,0,0,518,519,1,0,0,0,519,520,
        1,0,0,0,520,523,5,60,0,0,521,524,3,48,24,0,522,524,3,50,25,0,523,
        521,1,0,0,0,523,522,1,0,0,0,524,526,1,0,0,0,525,527,5,2,0,0,526,
        525,1,0,0,0,526,527,1,0,0,0,527,59,1,0,0,0,528,529,5,59,0,0,529,
        530,3,48,24,0,530,61,1,0,0,0,531,544,3,94,47,0,532,541,5,5,0,0,533,
        538,3,64,32,0,534,535,5,2,0,0,535,537,3,64,32,0,536,534,1,0,0,0,
        537,540,1,0,0,0,538,536,1,0,0,0,538,539,1,0,0,0,539,542,1,0,0,0,
        540,538,1,0,0,0,541,533,1,0,0,0,541,542,1,0,0,0,542,543,1,0,0,0,
        543,545,5,6,0,0,544,532,1,0,0,0,544,545,1,0,0,0,545,63,1,0,0,0,546,
        547,3,86,43,0,547,548,5,14,0,0,548,549,3,76,38,0,549,65,1,0,0,0,
        550,558,5,61,0,0,551,558,5,62,0,0,552,558,5,40,0,0,553,554,5,63,
        0,0,554,558,5,64,0,0,555,556,5,65,0,0,556,558,5,66,0,0,557,550,1,
        0,0,0,557,551,1,0,0,0,557,552,1,0,0,0,557,553,1,0,0,0,557,555,1,
        0,0,0,558,67,1,0,0,0,559,564,3,70,35,0,560,561,5,67,0,0,561,563,
        3,70,35,0,562,560,1,0,0,0,563,566,1,0,0,0,564,562,1,0,0,0,564,565,
        1,0,0,0,565,69,1,0,0,0,566,564,1,0,0,0,567,572,3,72,36,0,568,569,
        5,23,0,0,569,571,3,72,36,0,570,568,1,0,0,0,571,574,1,0,0,0,572,570,
        1,0,0,0,572,573,1,0,0,0,573,71,1,0,0,0,574,572,1,0,0,0,575,577,5,
        68,0,0,576,575,1,0,0,0,577,580,1,0,0,0,578,576,1,0,0,0,578,579,1,
        0,0,0,579,581,1,0,0,0,580,578,1,0,0,0,581,582,3,74,37,0,582,73,1,
        0,0,0,583,592,3,76,38,0,584,585,7,2,0,0,585,591,3,76,38,0,586,587,
        5,74,0,0,587,591,3,94,47,0,588,589,5,33,0,0,589,591,3,94,47,0,590,
        584,1,0,0,0,590,586,1,0,0,0,590,588,1,0,0,0,591,594,1,0,0,0,592,
        590,1,0,0,0,592,593,1,0,0,0,593,75,1,0,0,0,594,592,1,0,0,0,595,600,
        3,78,39,0,596,597,7,3,0,0,597,599,3,78,39,0,598,596,1,0,0,0,599,
        602,1,0,0,0,600,598,1,0,0,0,600,601,1,0,0,0,601,77,1,0,0,0,602,600,
        1,0,0,0,603,608,3,80,40,0,604,605,7,4,0,0,605,607,3,80,40,0,606,
        604,1,0,0,0,607,610,1,0,0,0,608,606,1,0,0,0,608,609,1,0,0,0,609,
        79,1,0,0,0,610,608,1,0,0,0,611,632,3,92,46,0,612,613,5,42,0,0,613,
        614,3,68,34,0,614,615,5,43,0,0,615,632,1,0,0,0,616,629,3,94,47,0,
        617,619,5,42,0,0,618,620,3,84,42,0,619,618,1,0,0,0,619,620,1,0,0,
        0,620,621,1,0,0,0,621,630,5,43,0,0,622,623,5,57,0,0,623,625,3,94,
        47,0,624,622,1,0,0,0,625,628,1,0,0,0,626,624,1,0,0,0,626,627,1,0,
        0,0,627,630,1,0,0,0,628,626,1,0,0,0,629,617,1,0,0,0,629,626,1,0,
        0,0,630,632,1,0,0,0,631,611,1,0,0,0,631,612,1,0,0,0,631,616,1,0,
        0,0,632,81,1,0,0,0,633,634,3,94,47,0,634,636,5,42,0,0,635,637,3,
        84,42,0,636,635,1,0,0,0,636,637,1,0,0,0,637,638,1,0,0,0,638,639,
        5,43,0,0,639,83,1,0,0,0,640,645,3,68,34,0,641,642,5,2,0,0,642,644,
        3,68,34,0,643,641,1,0,0,0,644,647,1,0,0,0,645,643,1,0,0,0,645,646,
        1,0,0,0,646,85,1,0,0,0,647,645,1,0,0,0,648,653,3,94,47,0,649,650,
        5,57,0,0,650,652,3,94,47,0,651,649,1,0,0,0,652,655,1,0,0,0,653,651,
        1,0,0,0,653,654,1,0,0,0,654,87,1,0,0,0,655,653,1,0,0,0,656,661,3,
        94,47,0,657,658,5,2,0,0,658,660,3,94,47,0,659,657,1,0,0,0,660,663,
        1,0,0,0,661,659,1,0,0,0,661,662,1,0,0,0,662,89,1,0,0,0,663,661,1,
        0,0,0,664,665,5,81,0,0,665,91,1,0,0,0,666,667,7,5,0,0,667,93,1,0,
        0,0,668,669,7,6,0,0,669,95,1,0,0,0,670,671,7,7,0,0,671,97,1,0,0,
        0,672,673,7,8,0,0,673,99,1,0,0,0,674,675,7,9,0,0,675,101,1,0,0,0,
        676,677,7,10,0,0,677,103,1,0,0,0,75,107,112,114,125,129,137,143,
        151,158,166,171,174,182,188,192,200,202,210,224,234,244,252,255,
        263,266,270,279,287,299,308,313,325,331,340,348,354,356,367,376,
        408,415,430,435,438,445,453,458,480,485,487,495,501,511,518,523,
        526,538,541,544,557,564,572,578,590,592,600,608,619,626,629,631,
        636,645,653,661
    ]

class HelioParser ( Parser ):

    grammarFileName = "Helio.g4"

    atn = ATNDeserializer().deserialize(serializedATN())

    decisionsToDFA = [ DFA(ds, i) for i, ds in enumerate(atn.decisionToState) ]

    sharedContextCache = PredictionContextCache()

    literalNames = [ "<INVALID>", "'import'", "','", "'link'", "'header'", 
                     "'{'", "'}'", "':'", "'size'", "'extent'", "'accept'", 
                     "'require'", "'payload'", "'when'", "'='", "'['", "']'", 
                     "'max'", "'pipeline'", "'ports'", "'parser'", "'->'", 
                     "'as'", "'and'", "'write'", "'on'", "'|'", "'..'", 
                     "'&'", "'ie'", "'rule'", "'named'", "'match'", "'gives'", 
                     "'spread'", "'by'", "'over'", "'counts'", "'priority'", 
                     "'precedence'", "'default'", "'action'", "'('", "')'", 
                     "'stage'", "'run'", "'find'", "'choose'", "'from'", 
                     "'push'", "'/'", "'before'", "'pop'", "'to'", "'clamp'", 
                     "'forward'", "'via'", "'.'", "'if'", "'else'", "'=>'", 
                     "'pass'", "'drop'", "'send'", "'back'", "'reply'", 
                     "'icmp'", "'or'", "'not'", "'!='", "'<'", "'<='", "'>'", 
                     "'>='", "'is'", "'+'", "'-'", "'*'", "'<<'", "'>>'" ]

    symbolicNames = [ "<INVALID>", "<INVALID>", "<INVALID>", "<INVALID>", 
                      "<INVALID>", "<INVALID>", "<INVALID>", "<INVALID>", 
                      "<INVALID>", "<INVALID>", "<INVALID>", "<INVALID>", 
                      "<INVALID>", "<INVALID>", "<INVALID>", "<INVALID>", 
                      "<INVALID>", "<INVALID>", "<INVALID>", "<INVALID>", 
                      "<INVALID>", "<INVALID>", "<INVALID>", "<INVALID>", 
                      "<INVALID>", "<INVALID>", "<INVALID>", "<INVALID>", 
                      "<INVALID>", "<INVALID>", "<INVALID>", "<INVALID>", 
                      "<INVALID>", "<INVALID>", "<INVALID>", "<INVALID>", 
                      "<INVALID>", "<INVALID>", "<INVALID>", "<INVALID>", 
                      "<INVALID>", "<INVALID>", "<INVALID>", "<INVALID>", 
                      "<INVALID>", "<INVALID>", "<INVALID>", "<INVALID>", 
                      "<INVALID>", "<INVALID>", "<INVALID>", "<INVALID>", 
                      "<INVALID>", "<INVALID>", "<INVALID>", "<INVALID>", 
                      "<INVALID>", "<INVALID>", "<INVALID>", "<INVALID>", 
                      "<INVALID>", "<INVALID>", "<INVALID>", "<INVALID>", 
                      "<INVALID>", "<INVALID>", "<INVALID>", "<INVALID>", 
                      "<INVALID>", "<INVALID>", "<INVALID>", "<INVALID>", 
                      "<INVALID>", "<INVALID>", "<INVALID>", "<INVALID>", 
                      "<INVALID>", "<INVALID>", "<INVALID>", "<INVALID>", 
                      "IDENT", "NUMBER", "ADDRESS", "COMMENT", "SPACE", 
                      "BLOCK", "STRAY" ]

    RULE_file = 0
    RULE_importLine = 1
    RULE_header = 2
    RULE_member = 3
    RULE_field = 4
    RULE_fieldRest = 5
    RULE_type = 6
    RULE_pipeline = 7
    RULE_declaration = 8
    RULE_ports = 9
    RULE_graph = 10
    RULE_edge = 11
    RULE_test = 12
    RULE_range_ = 13
    RULE_element = 14
    RULE_symbol = 15
    RULE_rule_ = 16
    RULE_clause = 17
    RULE_matchLine = 18
    RULE_fallback = 19
    RULE_action = 20
    RULE_stage = 21
    RULE_hook = 22
    RULE_run = 23
    RULE_block = 24
    RULE_statement = 25
    RULE_ifElse = 26
    RULE_elseBranch = 27
    RULE_matchOn = 28
    RULE_arm = 29
    RULE_otherwise = 30
    RULE_pushed = 31
    RULE_assign = 32
    RULE_verdict = 33
    RULE_expr = 34
    RULE_conjunction = 35
    RULE_negation = 36
    RULE_comparison = 37
    RULE_sum = 38
    RULE_product = 39
    RULE_atom = 40
    RULE_call = 41
    RULE_arguments = 42
    RULE_path = 43
    RULE_names = 44
    RULE_number = 45
    RULE_literal = 46
    RULE_name = 47
    RULE_memberName = 48
    RULE_edgeName = 49
    RULE_matchName = 50
    RULE_statementName = 51

    ruleNames =  [ "file", "importLine", "header", "member", "field", "fieldRest", 
                   "type", "pipeline", "declaration", "ports", "graph", 
                   "edge", "test", "range_", "element", "symbol", "rule_", 
                   "clause", "matchLine", "fallback", "action", "stage", 
                   "hook", "run", "block", "statement", "ifElse", "elseBranch", 
                   "matchOn", "arm", "otherwise", "pushed", "assign", "verdict", 
                   "expr", "conjunction", "negation", "comparison", "sum", 
                   "product", "atom", "call", "arguments", "path", "names", 
                   "number", "literal", "name", "memberName", "edgeName", 
                   "matchName", "statementName" ]

    EOF = Token.EOF
    T__0=1
    T__1=2
    T__2=3
    T__3=4
    T__4=5
    T__5=6
    T__6=7
    T__7=8
    T__8=9
    T__9=10
    T__10=11
    T__11=12
    T__12=13
    T__13=14
    T__14=15
    T__15=16
    T__16=17
    T__17=18
    T__18=19
    T__19=20
    T__20=21
    T__21=22
    T__22=23
    T__23=24
    T__24=25
    T__25=26
    T__26=27
    T__27=28
    T__28=29
    T__29=30
    T__30=31
    T__31=32
    T__32=33
    T__33=34
    T__34=35
    T__35=36
    T__36=37
    T__37=38
    T__38=39
    T__39=40
    T__40=41
    T__41=42
    T__42=43
    T__43=44
    T__44=45
    T__45=46
    T__46=47
    T__47=48
    T__48=49
    T__49=50
    T__50=51
    T__51=52
    T__52=53
    T__53=54
    T__54=55
    T__55=56
    T__56=57
    T__57=58
    T__58=59
    T__59=60
    T__60=61
    T__61=62
    T__62=63
    T__63=64
    T__64=65
    T__65=66
    T__66=67
    T__67=68
    T__68=69
    T__69=70
    T__70=71
    T__71=72
    T__72=73
    T__73=74
    T__74=75
    T__75=76
    T__76=77
    T__77=78
    T__78=79
    IDENT=80
    NUMBER=81
    ADDRESS=82
    COMMENT=83
    SPACE=84
    BLOCK=85
    STRAY=86

    def __init__(self, input:TokenStream, output:TextIO = sys.stdout):
        super().__init__(input, output)
        self.checkVersion("4.13.2")
        self._interp = ParserATNSimulator(self, self.atn, self.decisionsToDFA, self.sharedContextCache)
        self._predicates = None




    class FileContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def EOF(self):
            return self.getToken(HelioParser.EOF, 0)

        def importLine(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(HelioParser.ImportLineContext)
            else:
                return self.getTypedRuleContext(HelioParser.ImportLineContext,i)


        def header(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(HelioParser.HeaderContext)
            else:
                return self.getTypedRuleContext(HelioParser.HeaderContext,i)


        def pipeline(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(HelioParser.PipelineContext)
            else:
                return self.getTypedRuleContext(HelioParser.PipelineContext,i)


        def getRuleIndex(self):
            return HelioParser.RULE_file




    def file_(self):

        localctx = HelioParser.FileContext(self, self._ctx, self.state)
        self.enterRule(localctx, 0, self.RULE_file)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 107
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==1:
                self.state = 104
                self.importLine()
                self.state = 109
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 114
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while (((_la) & ~0x3f) == 0 and ((1 << _la) & 262168) != 0):
                self.state = 112
                self._errHandler.sync(self)
                token = self._input.LA(1)
                if token in [3, 4]:
                    self.state = 110
                    self.header()
                    pass
                elif token in [18]:
                    self.state = 111
                    self.pipeline()
                    pass
                else:
                    raise NoViableAltException(self)

                self.state = 116
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 117
            self.match(HelioParser.EOF)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ImportLineContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def path(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(HelioParser.PathContext)
            else:
                return self.getTypedRuleContext(HelioParser.PathContext,i)


        def getRuleIndex(self):
            return HelioParser.RULE_importLine




    def importLine(self):

        localctx = HelioParser.ImportLineContext(self, self._ctx, self.state)
        self.enterRule(localctx, 2, self.RULE_importLine)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 119
            self.match(HelioParser.T__0)
            self.state = 120
            self.path()
            self.state = 125
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==2:
                self.state = 121
                self.match(HelioParser.T__1)
                self.state = 122
                self.path()
                self.state = 127
                self._errHandler.sync(self)
                _la = self._input.LA(1)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class HeaderContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def name(self):
            return self.getTypedRuleContext(HelioParser.NameContext,0)


        def member(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(HelioParser.MemberContext)
            else:
                return self.getTypedRuleContext(HelioParser.MemberContext,i)


        def getRuleIndex(self):
            return HelioParser.RULE_header




    def header(self):

        localctx = HelioParser.HeaderContext(self, self._ctx, self.state)
        self.enterRule(localctx, 4, self.RULE_header)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 129
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==3:
                self.state = 128
                self.match(HelioParser.T__2)


            self.state = 131
            self.match(HelioParser.T__3)
            self.state = 132
            self.name()
            self.state = 133
            self.match(HelioParser.T__4)
            self.state = 137
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while (((_la) & ~0x3f) == 0 and ((1 << _la) & 83601196985237400) != 0) or ((((_la - 64)) & ~0x3f) == 0 and ((1 << (_la - 64)) & 65541) != 0):
                self.state = 134
                self.member()
                self.state = 139
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 140
            self.match(HelioParser.T__5)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class MemberContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def fieldRest(self):
            return self.getTypedRuleContext(HelioParser.FieldRestContext,0)


        def memberName(self):
            return self.getTypedRuleContext(HelioParser.MemberNameContext,0)


        def expr(self):
            return self.getTypedRuleContext(HelioParser.ExprContext,0)


        def name(self):
            return self.getTypedRuleContext(HelioParser.NameContext,0)


        def field(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(HelioParser.FieldContext)
            else:
                return self.getTypedRuleContext(HelioParser.FieldContext,i)


        def getRuleIndex(self):
            return HelioParser.RULE_member




    def member(self):

        localctx = HelioParser.MemberContext(self, self._ctx, self.state)
        self.enterRule(localctx, 6, self.RULE_member)
        self._la = 0 # Token type
        try:
            self.state = 171
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [3, 4, 7, 17, 19, 20, 24, 31, 35, 36, 38, 39, 41, 48, 51, 53, 56, 64, 66, 80]:
                self.enterOuterAlt(localctx, 1)
                self.state = 143
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if (((_la) & ~0x3f) == 0 and ((1 << _la) & 83601196985221144) != 0) or ((((_la - 64)) & ~0x3f) == 0 and ((1 << (_la - 64)) & 65541) != 0):
                    self.state = 142
                    self.memberName()


                self.state = 145
                self.match(HelioParser.T__6)
                self.state = 146
                self.fieldRest()
                pass
            elif token in [8, 9, 10, 11]:
                self.enterOuterAlt(localctx, 2)
                self.state = 147
                _la = self._input.LA(1)
                if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 3840) != 0)):
                    self._errHandler.recoverInline(self)
                else:
                    self._errHandler.reportMatch(self)
                    self.consume()
                self.state = 151
                self._errHandler.sync(self)
                token = self._input.LA(1)
                if token in [7]:
                    self.state = 148
                    self.match(HelioParser.T__6)
                    self.state = 149
                    self.fieldRest()
                    pass
                elif token in [3, 4, 8, 9, 10, 11, 12, 17, 19, 20, 24, 31, 35, 36, 38, 39, 41, 42, 48, 51, 53, 56, 64, 66, 68, 80, 81, 82]:
                    self.state = 150
                    self.expr()
                    pass
                else:
                    raise NoViableAltException(self)

                pass
            elif token in [12]:
                self.enterOuterAlt(localctx, 3)
                self.state = 153
                self.match(HelioParser.T__11)
                self.state = 158
                self._errHandler.sync(self)
                token = self._input.LA(1)
                if token in [7]:
                    self.state = 154
                    self.match(HelioParser.T__6)
                    self.state = 155
                    self.fieldRest()
                    pass
                elif token in [13]:
                    self.state = 156
                    self.match(HelioParser.T__12)
                    self.state = 157
                    self.expr()
                    pass
                else:
                    raise NoViableAltException(self)

                pass
            elif token in [13]:
                self.enterOuterAlt(localctx, 4)
                self.state = 160
                self.match(HelioParser.T__12)
                self.state = 161
                self.name()
                self.state = 162
                self.match(HelioParser.T__4)
                self.state = 166
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while (((_la) & ~0x3f) == 0 and ((1 << _la) & 83601196985229208) != 0) or ((((_la - 64)) & ~0x3f) == 0 and ((1 << (_la - 64)) & 65541) != 0):
                    self.state = 163
                    self.field()
                    self.state = 168
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 169
                self.match(HelioParser.T__5)
                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class FieldContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def fieldRest(self):
            return self.getTypedRuleContext(HelioParser.FieldRestContext,0)


        def name(self):
            return self.getTypedRuleContext(HelioParser.NameContext,0)


        def getRuleIndex(self):
            return HelioParser.RULE_field




    def field(self):

        localctx = HelioParser.FieldContext(self, self._ctx, self.state)
        self.enterRule(localctx, 8, self.RULE_field)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 174
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if (((_la) & ~0x3f) == 0 and ((1 << _la) & 83601196985229080) != 0) or ((((_la - 64)) & ~0x3f) == 0 and ((1 << (_la - 64)) & 65541) != 0):
                self.state = 173
                self.name()


            self.state = 176
            self.match(HelioParser.T__6)
            self.state = 177
            self.fieldRest()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class FieldRestContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def type_(self):
            return self.getTypedRuleContext(HelioParser.TypeContext,0)


        def sum_(self):
            return self.getTypedRuleContext(HelioParser.SumContext,0)


        def field(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(HelioParser.FieldContext)
            else:
                return self.getTypedRuleContext(HelioParser.FieldContext,i)


        def getRuleIndex(self):
            return HelioParser.RULE_fieldRest




    def fieldRest(self):

        localctx = HelioParser.FieldRestContext(self, self._ctx, self.state)
        self.enterRule(localctx, 10, self.RULE_fieldRest)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 179
            self.type_()
            self.state = 182
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==14:
                self.state = 180
                self.match(HelioParser.T__13)
                self.state = 181
                self.sum_()


            self.state = 192
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==5:
                self.state = 184
                self.match(HelioParser.T__4)
                self.state = 188
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while (((_la) & ~0x3f) == 0 and ((1 << _la) & 83601196985229208) != 0) or ((((_la - 64)) & ~0x3f) == 0 and ((1 << (_la - 64)) & 65541) != 0):
                    self.state = 185
                    self.field()
                    self.state = 190
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 191
                self.match(HelioParser.T__5)


        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class TypeContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def name(self):
            return self.getTypedRuleContext(HelioParser.NameContext,0)


        def sum_(self):
            return self.getTypedRuleContext(HelioParser.SumContext,0)


        def number(self):
            return self.getTypedRuleContext(HelioParser.NumberContext,0)


        def getRuleIndex(self):
            return HelioParser.RULE_type




    def type_(self):

        localctx = HelioParser.TypeContext(self, self._ctx, self.state)
        self.enterRule(localctx, 12, self.RULE_type)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 194
            self.name()
            self.state = 202
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==15:
                self.state = 195
                self.match(HelioParser.T__14)
                self.state = 196
                self.sum_()
                self.state = 197
                self.match(HelioParser.T__15)
                self.state = 200
                self._errHandler.sync(self)
                la_ = self._interp.adaptivePredict(self._input,15,self._ctx)
                if la_ == 1:
                    self.state = 198
                    self.match(HelioParser.T__16)
                    self.state = 199
                    self.number()




        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class PipelineContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def name(self):
            return self.getTypedRuleContext(HelioParser.NameContext,0)


        def declaration(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(HelioParser.DeclarationContext)
            else:
                return self.getTypedRuleContext(HelioParser.DeclarationContext,i)


        def getRuleIndex(self):
            return HelioParser.RULE_pipeline




    def pipeline(self):

        localctx = HelioParser.PipelineContext(self, self._ctx, self.state)
        self.enterRule(localctx, 14, self.RULE_pipeline)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 204
            self.match(HelioParser.T__17)
            self.state = 205
            self.name()
            self.state = 206
            self.match(HelioParser.T__4)
            self.state = 210
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while (((_la) & ~0x3f) == 0 and ((1 << _la) & 56076738756608) != 0):
                self.state = 207
                self.declaration()
                self.state = 212
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 213
            self.match(HelioParser.T__5)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class DeclarationContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def ports(self):
            return self.getTypedRuleContext(HelioParser.PortsContext,0)


        def graph(self):
            return self.getTypedRuleContext(HelioParser.GraphContext,0)


        def element(self):
            return self.getTypedRuleContext(HelioParser.ElementContext,0)


        def rule_(self):
            return self.getTypedRuleContext(HelioParser.Rule_Context,0)


        def fallback(self):
            return self.getTypedRuleContext(HelioParser.FallbackContext,0)


        def action(self):
            return self.getTypedRuleContext(HelioParser.ActionContext,0)


        def stage(self):
            return self.getTypedRuleContext(HelioParser.StageContext,0)


        def hook(self):
            return self.getTypedRuleContext(HelioParser.HookContext,0)


        def run(self):
            return self.getTypedRuleContext(HelioParser.RunContext,0)


        def getRuleIndex(self):
            return HelioParser.RULE_declaration




    def declaration(self):

        localctx = HelioParser.DeclarationContext(self, self._ctx, self.state)
        self.enterRule(localctx, 16, self.RULE_declaration)
        try:
            self.state = 224
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [19]:
                self.enterOuterAlt(localctx, 1)
                self.state = 215
                self.ports()
                pass
            elif token in [20]:
                self.enterOuterAlt(localctx, 2)
                self.state = 216
                self.graph()
                pass
            elif token in [29]:
                self.enterOuterAlt(localctx, 3)
                self.state = 217
                self.element()
                pass
            elif token in [30]:
                self.enterOuterAlt(localctx, 4)
                self.state = 218
                self.rule_()
                pass
            elif token in [40]:
                self.enterOuterAlt(localctx, 5)
                self.state = 219
                self.fallback()
                pass
            elif token in [41]:
                self.enterOuterAlt(localctx, 6)
                self.state = 220
                self.action()
                pass
            elif token in [44]:
                self.enterOuterAlt(localctx, 7)
                self.state = 221
                self.stage()
                pass
            elif token in [25]:
                self.enterOuterAlt(localctx, 8)
                self.state = 222
                self.hook()
                pass
            elif token in [45]:
                self.enterOuterAlt(localctx, 9)
                self.state = 223
                self.run()
                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class PortsContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def names(self):
            return self.getTypedRuleContext(HelioParser.NamesContext,0)


        def getRuleIndex(self):
            return HelioParser.RULE_ports




    def ports(self):

        localctx = HelioParser.PortsContext(self, self._ctx, self.state)
        self.enterRule(localctx, 18, self.RULE_ports)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 226
            self.match(HelioParser.T__18)
            self.state = 227
            self.names()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class GraphContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def edge(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(HelioParser.EdgeContext)
            else:
                return self.getTypedRuleContext(HelioParser.EdgeContext,i)


        def getRuleIndex(self):
            return HelioParser.RULE_graph




    def graph(self):

        localctx = HelioParser.GraphContext(self, self._ctx, self.state)
        self.enterRule(localctx, 20, self.RULE_graph)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 229
            self.match(HelioParser.T__19)
            self.state = 230
            self.match(HelioParser.T__4)
            self.state = 234
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while (((_la) & ~0x3f) == 0 and ((1 << _la) & 83601196968451864) != 0) or ((((_la - 64)) & ~0x3f) == 0 and ((1 << (_la - 64)) & 65541) != 0):
                self.state = 231
                self.edge()
                self.state = 236
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 237
            self.match(HelioParser.T__5)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class EdgeContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def edgeName(self):
            return self.getTypedRuleContext(HelioParser.EdgeNameContext,0)


        def name(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(HelioParser.NameContext)
            else:
                return self.getTypedRuleContext(HelioParser.NameContext,i)


        def test(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(HelioParser.TestContext)
            else:
                return self.getTypedRuleContext(HelioParser.TestContext,i)


        def literal(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(HelioParser.LiteralContext)
            else:
                return self.getTypedRuleContext(HelioParser.LiteralContext,i)


        def names(self):
            return self.getTypedRuleContext(HelioParser.NamesContext,0)


        def getRuleIndex(self):
            return HelioParser.RULE_edge




    def edge(self):

        localctx = HelioParser.EdgeContext(self, self._ctx, self.state)
        self.enterRule(localctx, 22, self.RULE_edge)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 239
            self.edgeName()
            self.state = 240
            self.match(HelioParser.T__20)
            self.state = 241
            self.name()
            self.state = 244
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==22:
                self.state = 242
                self.match(HelioParser.T__21)
                self.state = 243
                self.name()


            self.state = 255
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==13:
                self.state = 246
                self.match(HelioParser.T__12)
                self.state = 247
                self.test()
                self.state = 252
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==23:
                    self.state = 248
                    self.match(HelioParser.T__22)
                    self.state = 249
                    self.test()
                    self.state = 254
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)



            self.state = 266
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==24:
                self.state = 257
                self.match(HelioParser.T__23)
                self.state = 258
                self.literal()
                self.state = 263
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==2:
                    self.state = 259
                    self.match(HelioParser.T__1)
                    self.state = 260
                    self.literal()
                    self.state = 265
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)



            self.state = 270
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==25:
                self.state = 268
                self.match(HelioParser.T__24)
                self.state = 269
                self.names()


        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class TestContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def name(self):
            return self.getTypedRuleContext(HelioParser.NameContext,0)


        def range_(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(HelioParser.Range_Context)
            else:
                return self.getTypedRuleContext(HelioParser.Range_Context,i)


        def getRuleIndex(self):
            return HelioParser.RULE_test




    def test(self):

        localctx = HelioParser.TestContext(self, self._ctx, self.state)
        self.enterRule(localctx, 24, self.RULE_test)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 272
            self.name()
            self.state = 273
            self.match(HelioParser.T__13)
            self.state = 274
            self.range_()
            self.state = 279
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==26:
                self.state = 275
                self.match(HelioParser.T__25)
                self.state = 276
                self.range_()
                self.state = 281
                self._errHandler.sync(self)
                _la = self._input.LA(1)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class Range_Context(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def literal(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(HelioParser.LiteralContext)
            else:
                return self.getTypedRuleContext(HelioParser.LiteralContext,i)


        def getRuleIndex(self):
            return HelioParser.RULE_range_




    def range_(self):

        localctx = HelioParser.Range_Context(self, self._ctx, self.state)
        self.enterRule(localctx, 26, self.RULE_range_)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 282
            self.literal()
            self.state = 287
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [27]:
                self.state = 283
                self.match(HelioParser.T__26)
                self.state = 284
                self.literal()
                pass
            elif token in [28]:
                self.state = 285
                self.match(HelioParser.T__27)
                self.state = 286
                self.literal()
                pass
            elif token in [3, 4, 6, 8, 9, 10, 11, 12, 17, 19, 20, 23, 24, 25, 26, 31, 35, 36, 38, 39, 41, 48, 51, 53, 56, 64, 66, 80]:
                pass
            else:
                pass
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ElementContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def name(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(HelioParser.NameContext)
            else:
                return self.getTypedRuleContext(HelioParser.NameContext,i)


        def number(self):
            return self.getTypedRuleContext(HelioParser.NumberContext,0)


        def symbol(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(HelioParser.SymbolContext)
            else:
                return self.getTypedRuleContext(HelioParser.SymbolContext,i)


        def getRuleIndex(self):
            return HelioParser.RULE_element




    def element(self):

        localctx = HelioParser.ElementContext(self, self._ctx, self.state)
        self.enterRule(localctx, 28, self.RULE_element)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 289
            self.match(HelioParser.T__28)
            self.state = 290
            self.name()
            self.state = 291
            self.match(HelioParser.T__13)
            self.state = 292
            self.number()
            self.state = 293
            self.match(HelioParser.T__1)
            self.state = 294
            self.name()
            self.state = 299
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==26:
                self.state = 295
                self.match(HelioParser.T__25)
                self.state = 296
                self.name()
                self.state = 301
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 313
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==5:
                self.state = 302
                self.match(HelioParser.T__4)
                self.state = 303
                self.symbol()
                self.state = 308
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==2:
                    self.state = 304
                    self.match(HelioParser.T__1)
                    self.state = 305
                    self.symbol()
                    self.state = 310
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 311
                self.match(HelioParser.T__5)


        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class SymbolContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def name(self):
            return self.getTypedRuleContext(HelioParser.NameContext,0)


        def number(self):
            return self.getTypedRuleContext(HelioParser.NumberContext,0)


        def getRuleIndex(self):
            return HelioParser.RULE_symbol




    def symbol(self):

        localctx = HelioParser.SymbolContext(self, self._ctx, self.state)
        self.enterRule(localctx, 30, self.RULE_symbol)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 315
            self.name()
            self.state = 316
            self.match(HelioParser.T__13)
            self.state = 317
            self.number()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class Rule_Context(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def name(self):
            return self.getTypedRuleContext(HelioParser.NameContext,0)


        def number(self):
            return self.getTypedRuleContext(HelioParser.NumberContext,0)


        def clause(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(HelioParser.ClauseContext)
            else:
                return self.getTypedRuleContext(HelioParser.ClauseContext,i)


        def getRuleIndex(self):
            return HelioParser.RULE_rule_




    def rule_(self):

        localctx = HelioParser.Rule_Context(self, self._ctx, self.state)
        self.enterRule(localctx, 32, self.RULE_rule_)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 319
            self.match(HelioParser.T__29)
            self.state = 320
            self.name()
            self.state = 321
            self.match(HelioParser.T__14)
            self.state = 322
            self.number()
            self.state = 323
            self.match(HelioParser.T__15)
            self.state = 325
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==31:
                self.state = 324
                self.match(HelioParser.T__30)


            self.state = 327
            self.match(HelioParser.T__4)
            self.state = 331
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while (((_la) & ~0x3f) == 0 and ((1 << _la) & 992137445376) != 0):
                self.state = 328
                self.clause()
                self.state = 333
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 334
            self.match(HelioParser.T__5)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ClauseContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def matchLine(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(HelioParser.MatchLineContext)
            else:
                return self.getTypedRuleContext(HelioParser.MatchLineContext,i)


        def name(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(HelioParser.NameContext)
            else:
                return self.getTypedRuleContext(HelioParser.NameContext,i)


        def number(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(HelioParser.NumberContext)
            else:
                return self.getTypedRuleContext(HelioParser.NumberContext,i)


        def call(self):
            return self.getTypedRuleContext(HelioParser.CallContext,0)


        def names(self):
            return self.getTypedRuleContext(HelioParser.NamesContext,0)


        def getRuleIndex(self):
            return HelioParser.RULE_clause




    def clause(self):

        localctx = HelioParser.ClauseContext(self, self._ctx, self.state)
        self.enterRule(localctx, 34, self.RULE_clause)
        self._la = 0 # Token type
        try:
            self.state = 376
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [32]:
                self.enterOuterAlt(localctx, 1)
                self.state = 336
                self.match(HelioParser.T__31)
                self.state = 338 
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while True:
                    self.state = 337
                    self.matchLine()
                    self.state = 340 
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    if not ((((_la) & ~0x3f) == 0 and ((1 << _la) & 83600372351508248) != 0) or ((((_la - 64)) & ~0x3f) == 0 and ((1 << (_la - 64)) & 65541) != 0)):
                        break

                pass
            elif token in [33]:
                self.enterOuterAlt(localctx, 2)
                self.state = 342
                self.match(HelioParser.T__32)
                self.state = 343
                self.name()
                self.state = 356
                self._errHandler.sync(self)
                token = self._input.LA(1)
                if token in [2]:
                    self.state = 346 
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    while True:
                        self.state = 344
                        self.match(HelioParser.T__1)
                        self.state = 345
                        self.name()
                        self.state = 348 
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)
                        if not (_la==2):
                            break

                    pass
                elif token in [26]:
                    self.state = 352 
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    while True:
                        self.state = 350
                        self.match(HelioParser.T__25)
                        self.state = 351
                        self.name()
                        self.state = 354 
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)
                        if not (_la==26):
                            break

                    pass
                elif token in [6, 32, 33, 34, 37, 38, 39]:
                    pass
                else:
                    pass
                pass
            elif token in [34]:
                self.enterOuterAlt(localctx, 3)
                self.state = 358
                self.match(HelioParser.T__33)
                self.state = 359
                self.name()
                self.state = 360
                self.match(HelioParser.T__14)
                self.state = 361
                self.number()
                self.state = 362
                self.match(HelioParser.T__26)
                self.state = 363
                self.number()
                self.state = 364
                self.match(HelioParser.T__15)
                self.state = 367
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==35:
                    self.state = 365
                    self.match(HelioParser.T__34)
                    self.state = 366
                    self.name()


                self.state = 369
                self.match(HelioParser.T__35)
                self.state = 370
                self.call()
                pass
            elif token in [37]:
                self.enterOuterAlt(localctx, 4)
                self.state = 372
                self.match(HelioParser.T__36)
                self.state = 373
                self.names()
                pass
            elif token in [38, 39]:
                self.enterOuterAlt(localctx, 5)
                self.state = 374
                _la = self._input.LA(1)
                if not(_la==38 or _la==39):
                    self._errHandler.recoverInline(self)
                else:
                    self._errHandler.reportMatch(self)
                    self.consume()
                self.state = 375
                self.name()
                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class MatchLineContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def matchName(self):
            return self.getTypedRuleContext(HelioParser.MatchNameContext,0)


        def name(self):
            return self.getTypedRuleContext(HelioParser.NameContext,0)


        def path(self):
            return self.getTypedRuleContext(HelioParser.PathContext,0)


        def getRuleIndex(self):
            return HelioParser.RULE_matchLine




    def matchLine(self):

        localctx = HelioParser.MatchLineContext(self, self._ctx, self.state)
        self.enterRule(localctx, 36, self.RULE_matchLine)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 378
            self.matchName()
            self.state = 379
            self.name()
            self.state = 380
            self.path()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class FallbackContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def verdict(self):
            return self.getTypedRuleContext(HelioParser.VerdictContext,0)


        def getRuleIndex(self):
            return HelioParser.RULE_fallback




    def fallback(self):

        localctx = HelioParser.FallbackContext(self, self._ctx, self.state)
        self.enterRule(localctx, 38, self.RULE_fallback)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 382
            self.match(HelioParser.T__39)
            self.state = 383
            self.verdict()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ActionContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def name(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(HelioParser.NameContext)
            else:
                return self.getTypedRuleContext(HelioParser.NameContext,i)


        def block(self):
            return self.getTypedRuleContext(HelioParser.BlockContext,0)


        def getRuleIndex(self):
            return HelioParser.RULE_action




    def action(self):

        localctx = HelioParser.ActionContext(self, self._ctx, self.state)
        self.enterRule(localctx, 40, self.RULE_action)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 385
            self.match(HelioParser.T__40)
            self.state = 386
            self.name()
            self.state = 387
            self.match(HelioParser.T__41)
            self.state = 388
            self.name()
            self.state = 389
            self.match(HelioParser.T__42)
            self.state = 390
            self.block()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class StageContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def name(self):
            return self.getTypedRuleContext(HelioParser.NameContext,0)


        def block(self):
            return self.getTypedRuleContext(HelioParser.BlockContext,0)


        def getRuleIndex(self):
            return HelioParser.RULE_stage




    def stage(self):

        localctx = HelioParser.StageContext(self, self._ctx, self.state)
        self.enterRule(localctx, 42, self.RULE_stage)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 392
            self.match(HelioParser.T__43)
            self.state = 393
            self.name()
            self.state = 394
            self.block()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class HookContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def name(self):
            return self.getTypedRuleContext(HelioParser.NameContext,0)


        def verdict(self):
            return self.getTypedRuleContext(HelioParser.VerdictContext,0)


        def getRuleIndex(self):
            return HelioParser.RULE_hook




    def hook(self):

        localctx = HelioParser.HookContext(self, self._ctx, self.state)
        self.enterRule(localctx, 44, self.RULE_hook)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 396
            self.match(HelioParser.T__24)
            self.state = 397
            self.name()
            self.state = 398
            self.match(HelioParser.T__4)
            self.state = 399
            self.verdict()
            self.state = 400
            self.match(HelioParser.T__5)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class RunContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def name(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(HelioParser.NameContext)
            else:
                return self.getTypedRuleContext(HelioParser.NameContext,i)


        def getRuleIndex(self):
            return HelioParser.RULE_run




    def run(self):

        localctx = HelioParser.RunContext(self, self._ctx, self.state)
        self.enterRule(localctx, 46, self.RULE_run)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 402
            self.match(HelioParser.T__44)
            self.state = 403
            self.name()
            self.state = 408
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==21:
                self.state = 404
                self.match(HelioParser.T__20)
                self.state = 405
                self.name()
                self.state = 410
                self._errHandler.sync(self)
                _la = self._input.LA(1)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class BlockContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def statement(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(HelioParser.StatementContext)
            else:
                return self.getTypedRuleContext(HelioParser.StatementContext,i)


        def getRuleIndex(self):
            return HelioParser.RULE_block




    def block(self):

        localctx = HelioParser.BlockContext(self, self._ctx, self.state)
        self.enterRule(localctx, 48, self.RULE_block)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 411
            self.match(HelioParser.T__4)
            self.state = 415
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while (((_la) & ~0x3f) == 0 and ((1 << _la) & -1876941280742072552) != 0) or ((((_la - 64)) & ~0x3f) == 0 and ((1 << (_la - 64)) & 65543) != 0):
                self.state = 412
                self.statement()
                self.state = 417
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 418
            self.match(HelioParser.T__5)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class StatementContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def ifElse(self):
            return self.getTypedRuleContext(HelioParser.IfElseContext,0)


        def matchOn(self):
            return self.getTypedRuleContext(HelioParser.MatchOnContext,0)


        def name(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(HelioParser.NameContext)
            else:
                return self.getTypedRuleContext(HelioParser.NameContext,i)


        def assign(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(HelioParser.AssignContext)
            else:
                return self.getTypedRuleContext(HelioParser.AssignContext,i)


        def otherwise(self):
            return self.getTypedRuleContext(HelioParser.OtherwiseContext,0)


        def path(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(HelioParser.PathContext)
            else:
                return self.getTypedRuleContext(HelioParser.PathContext,i)


        def pushed(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(HelioParser.PushedContext)
            else:
                return self.getTypedRuleContext(HelioParser.PushedContext,i)


        def verdict(self):
            return self.getTypedRuleContext(HelioParser.VerdictContext,0)


        def statementName(self):
            return self.getTypedRuleContext(HelioParser.StatementNameContext,0)


        def sum_(self):
            return self.getTypedRuleContext(HelioParser.SumContext,0)


        def getRuleIndex(self):
            return HelioParser.RULE_statement




    def statement(self):

        localctx = HelioParser.StatementContext(self, self._ctx, self.state)
        self.enterRule(localctx, 50, self.RULE_statement)
        self._la = 0 # Token type
        try:
            self.state = 487
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [58]:
                self.enterOuterAlt(localctx, 1)
                self.state = 420
                self.ifElse()
                pass
            elif token in [32]:
                self.enterOuterAlt(localctx, 2)
                self.state = 421
                self.matchOn()
                pass
            elif token in [46]:
                self.enterOuterAlt(localctx, 3)
                self.state = 422
                self.match(HelioParser.T__45)
                self.state = 423
                self.name()
                self.state = 435
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==42:
                    self.state = 424
                    self.match(HelioParser.T__41)
                    self.state = 425
                    self.assign()
                    self.state = 430
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    while _la==2:
                        self.state = 426
                        self.match(HelioParser.T__1)
                        self.state = 427
                        self.assign()
                        self.state = 432
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)

                    self.state = 433
                    self.match(HelioParser.T__42)


                self.state = 438
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==59:
                    self.state = 437
                    self.otherwise()


                pass
            elif token in [47]:
                self.enterOuterAlt(localctx, 4)
                self.state = 440
                self.match(HelioParser.T__46)
                self.state = 441
                self.name()
                self.state = 442
                self.match(HelioParser.T__47)
                self.state = 443
                self.path()
                self.state = 445
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==59:
                    self.state = 444
                    self.otherwise()


                pass
            elif token in [49]:
                self.enterOuterAlt(localctx, 5)
                self.state = 447
                self.match(HelioParser.T__48)
                self.state = 448
                self.pushed()
                self.state = 453
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==50:
                    self.state = 449
                    self.match(HelioParser.T__49)
                    self.state = 450
                    self.pushed()
                    self.state = 455
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 458
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==51:
                    self.state = 456
                    self.match(HelioParser.T__50)
                    self.state = 457
                    self.name()


                pass
            elif token in [52]:
                self.enterOuterAlt(localctx, 6)
                self.state = 460
                self.match(HelioParser.T__51)
                self.state = 461
                self.match(HelioParser.T__52)
                self.state = 462
                self.name()
                pass
            elif token in [54]:
                self.enterOuterAlt(localctx, 7)
                self.state = 463
                self.match(HelioParser.T__53)
                self.state = 464
                self.name()
                pass
            elif token in [55]:
                self.enterOuterAlt(localctx, 8)
                self.state = 465
                self.match(HelioParser.T__54)
                self.state = 466
                self.path()
                self.state = 467
                self.match(HelioParser.T__55)
                self.state = 468
                self.path()
                pass
            elif token in [40, 61, 62, 63, 65]:
                self.enterOuterAlt(localctx, 9)
                self.state = 470
                self.verdict()
                pass
            elif token in [3, 4, 8, 9, 10, 11, 12, 17, 19, 20, 24, 31, 35, 36, 38, 39, 41, 48, 53, 56, 64, 66, 80]:
                self.enterOuterAlt(localctx, 10)
                self.state = 471
                self.statementName()
                self.state = 485
                self._errHandler.sync(self)
                token = self._input.LA(1)
                if token in [42]:
                    self.state = 472
                    self.match(HelioParser.T__41)
                    self.state = 473
                    self.name()
                    self.state = 474
                    self.match(HelioParser.T__42)
                    pass
                elif token in [14, 57]:
                    self.state = 480
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    while _la==57:
                        self.state = 476
                        self.match(HelioParser.T__56)
                        self.state = 477
                        self.name()
                        self.state = 482
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)

                    self.state = 483
                    self.match(HelioParser.T__13)
                    self.state = 484
                    self.sum_()
                    pass
                else:
                    raise NoViableAltException(self)

                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class IfElseContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def expr(self):
            return self.getTypedRuleContext(HelioParser.ExprContext,0)


        def block(self):
            return self.getTypedRuleContext(HelioParser.BlockContext,0)


        def elseBranch(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(HelioParser.ElseBranchContext)
            else:
                return self.getTypedRuleContext(HelioParser.ElseBranchContext,i)


        def getRuleIndex(self):
            return HelioParser.RULE_ifElse




    def ifElse(self):

        localctx = HelioParser.IfElseContext(self, self._ctx, self.state)
        self.enterRule(localctx, 52, self.RULE_ifElse)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 489
            self.match(HelioParser.T__57)
            self.state = 490
            self.expr()
            self.state = 491
            self.block()
            self.state = 495
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==59:
                self.state = 492
                self.elseBranch()
                self.state = 497
                self._errHandler.sync(self)
                _la = self._input.LA(1)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ElseBranchContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def block(self):
            return self.getTypedRuleContext(HelioParser.BlockContext,0)


        def expr(self):
            return self.getTypedRuleContext(HelioParser.ExprContext,0)


        def getRuleIndex(self):
            return HelioParser.RULE_elseBranch




    def elseBranch(self):

        localctx = HelioParser.ElseBranchContext(self, self._ctx, self.state)
        self.enterRule(localctx, 54, self.RULE_elseBranch)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 498
            self.match(HelioParser.T__58)
            self.state = 501
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==58:
                self.state = 499
                self.match(HelioParser.T__57)
                self.state = 500
                self.expr()


            self.state = 503
            self.block()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class MatchOnContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def path(self):
            return self.getTypedRuleContext(HelioParser.PathContext,0)


        def arm(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(HelioParser.ArmContext)
            else:
                return self.getTypedRuleContext(HelioParser.ArmContext,i)


        def getRuleIndex(self):
            return HelioParser.RULE_matchOn




    def matchOn(self):

        localctx = HelioParser.MatchOnContext(self, self._ctx, self.state)
        self.enterRule(localctx, 56, self.RULE_matchOn)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 505
            self.match(HelioParser.T__31)
            self.state = 506
            self.path()
            self.state = 507
            self.match(HelioParser.T__4)
            self.state = 511
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while (((_la) & ~0x3f) == 0 and ((1 << _la) & 81349397171543832) != 0) or ((((_la - 64)) & ~0x3f) == 0 and ((1 << (_la - 64)) & 65541) != 0):
                self.state = 508
                self.arm()
                self.state = 513
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 514
            self.match(HelioParser.T__5)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ArmContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def statementName(self):
            return self.getTypedRuleContext(HelioParser.StatementNameContext,0)


        def block(self):
            return self.getTypedRuleContext(HelioParser.BlockContext,0)


        def statement(self):
            return self.getTypedRuleContext(HelioParser.StatementContext,0)


        def name(self):
            return self.getTypedRuleContext(HelioParser.NameContext,0)


        def getRuleIndex(self):
            return HelioParser.RULE_arm




    def arm(self):

        localctx = HelioParser.ArmContext(self, self._ctx, self.state)
        self.enterRule(localctx, 58, self.RULE_arm)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 516
            self.statementName()
            self.state = 518
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if (((_la) & ~0x3f) == 0 and ((1 << _la) & 83601196985229080) != 0) or ((((_la - 64)) & ~0x3f) == 0 and ((1 << (_la - 64)) & 65541) != 0):
                self.state = 517
                self.name()


            self.state = 520
            self.match(HelioParser.T__59)
            self.state = 523
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [5]:
                self.state = 521
                self.block()
                pass
            elif token in [3, 4, 8, 9, 10, 11, 12, 17, 19, 20, 24, 31, 32, 35, 36, 38, 39, 40, 41, 46, 47, 48, 49, 52, 53, 54, 55, 56, 58, 61, 62, 63, 64, 65, 66, 80]:
                self.state = 522
                self.statement()
                pass
            else:
                raise NoViableAltException(self)

            self.state = 526
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==2:
                self.state = 525
                self.match(HelioParser.T__1)


        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class OtherwiseContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def block(self):
            return self.getTypedRuleContext(HelioParser.BlockContext,0)


        def getRuleIndex(self):
            return HelioParser.RULE_otherwise




    def otherwise(self):

        localctx = HelioParser.OtherwiseContext(self, self._ctx, self.state)
        self.enterRule(localctx, 60, self.RULE_otherwise)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 528
            self.match(HelioParser.T__58)
            self.state = 529
            self.block()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class PushedContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def name(self):
            return self.getTypedRuleContext(HelioParser.NameContext,0)


        def assign(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(HelioParser.AssignContext)
            else:
                return self.getTypedRuleContext(HelioParser.AssignContext,i)


        def getRuleIndex(self):
            return HelioParser.RULE_pushed




    def pushed(self):

        localctx = HelioParser.PushedContext(self, self._ctx, self.state)
        self.enterRule(localctx, 62, self.RULE_pushed)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 531
            self.name()
            self.state = 544
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==5:
                self.state = 532
                self.match(HelioParser.T__4)
                self.state = 541
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if (((_la) & ~0x3f) == 0 and ((1 << _la) & 83601196985229080) != 0) or ((((_la - 64)) & ~0x3f) == 0 and ((1 << (_la - 64)) & 65541) != 0):
                    self.state = 533
                    self.assign()
                    self.state = 538
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    while _la==2:
                        self.state = 534
                        self.match(HelioParser.T__1)
                        self.state = 535
                        self.assign()
                        self.state = 540
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)



                self.state = 543
                self.match(HelioParser.T__5)


        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class AssignContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def path(self):
            return self.getTypedRuleContext(HelioParser.PathContext,0)


        def sum_(self):
            return self.getTypedRuleContext(HelioParser.SumContext,0)


        def getRuleIndex(self):
            return HelioParser.RULE_assign




    def assign(self):

        localctx = HelioParser.AssignContext(self, self._ctx, self.state)
        self.enterRule(localctx, 64, self.RULE_assign)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 546
            self.path()
            self.state = 547
            self.match(HelioParser.T__13)
            self.state = 548
            self.sum_()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class VerdictContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser


        def getRuleIndex(self):
            return HelioParser.RULE_verdict




    def verdict(self):

        localctx = HelioParser.VerdictContext(self, self._ctx, self.state)
        self.enterRule(localctx, 66, self.RULE_verdict)
        try:
            self.state = 557
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [61]:
                self.enterOuterAlt(localctx, 1)
                self.state = 550
                self.match(HelioParser.T__60)
                pass
            elif token in [62]:
                self.enterOuterAlt(localctx, 2)
                self.state = 551
                self.match(HelioParser.T__61)
                pass
            elif token in [40]:
                self.enterOuterAlt(localctx, 3)
                self.state = 552
                self.match(HelioParser.T__39)
                pass
            elif token in [63]:
                self.enterOuterAlt(localctx, 4)
                self.state = 553
                self.match(HelioParser.T__62)
                self.state = 554
                self.match(HelioParser.T__63)
                pass
            elif token in [65]:
                self.enterOuterAlt(localctx, 5)
                self.state = 555
                self.match(HelioParser.T__64)
                self.state = 556
                self.match(HelioParser.T__65)
                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ExprContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def conjunction(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(HelioParser.ConjunctionContext)
            else:
                return self.getTypedRuleContext(HelioParser.ConjunctionContext,i)


        def getRuleIndex(self):
            return HelioParser.RULE_expr




    def expr(self):

        localctx = HelioParser.ExprContext(self, self._ctx, self.state)
        self.enterRule(localctx, 68, self.RULE_expr)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 559
            self.conjunction()
            self.state = 564
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==67:
                self.state = 560
                self.match(HelioParser.T__66)
                self.state = 561
                self.conjunction()
                self.state = 566
                self._errHandler.sync(self)
                _la = self._input.LA(1)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ConjunctionContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def negation(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(HelioParser.NegationContext)
            else:
                return self.getTypedRuleContext(HelioParser.NegationContext,i)


        def getRuleIndex(self):
            return HelioParser.RULE_conjunction




    def conjunction(self):

        localctx = HelioParser.ConjunctionContext(self, self._ctx, self.state)
        self.enterRule(localctx, 70, self.RULE_conjunction)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 567
            self.negation()
            self.state = 572
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==23:
                self.state = 568
                self.match(HelioParser.T__22)
                self.state = 569
                self.negation()
                self.state = 574
                self._errHandler.sync(self)
                _la = self._input.LA(1)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class NegationContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def comparison(self):
            return self.getTypedRuleContext(HelioParser.ComparisonContext,0)


        def getRuleIndex(self):
            return HelioParser.RULE_negation




    def negation(self):

        localctx = HelioParser.NegationContext(self, self._ctx, self.state)
        self.enterRule(localctx, 72, self.RULE_negation)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 578
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==68:
                self.state = 575
                self.match(HelioParser.T__67)
                self.state = 580
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 581
            self.comparison()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ComparisonContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def sum_(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(HelioParser.SumContext)
            else:
                return self.getTypedRuleContext(HelioParser.SumContext,i)


        def name(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(HelioParser.NameContext)
            else:
                return self.getTypedRuleContext(HelioParser.NameContext,i)


        def getRuleIndex(self):
            return HelioParser.RULE_comparison




    def comparison(self):

        localctx = HelioParser.ComparisonContext(self, self._ctx, self.state)
        self.enterRule(localctx, 74, self.RULE_comparison)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 583
            self.sum_()
            self.state = 592
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while ((((_la - 14)) & ~0x3f) == 0 and ((1 << (_la - 14)) & 2269814212195254273) != 0):
                self.state = 590
                self._errHandler.sync(self)
                token = self._input.LA(1)
                if token in [14, 69, 70, 71, 72, 73]:
                    self.state = 584
                    _la = self._input.LA(1)
                    if not(((((_la - 14)) & ~0x3f) == 0 and ((1 << (_la - 14)) & 1116892707587883009) != 0)):
                        self._errHandler.recoverInline(self)
                    else:
                        self._errHandler.reportMatch(self)
                        self.consume()
                    self.state = 585
                    self.sum_()
                    pass
                elif token in [74]:
                    self.state = 586
                    self.match(HelioParser.T__73)
                    self.state = 587
                    self.name()
                    pass
                elif token in [33]:
                    self.state = 588
                    self.match(HelioParser.T__32)
                    self.state = 589
                    self.name()
                    pass
                else:
                    raise NoViableAltException(self)

                self.state = 594
                self._errHandler.sync(self)
                _la = self._input.LA(1)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class SumContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def product(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(HelioParser.ProductContext)
            else:
                return self.getTypedRuleContext(HelioParser.ProductContext,i)


        def getRuleIndex(self):
            return HelioParser.RULE_sum




    def sum_(self):

        localctx = HelioParser.SumContext(self, self._ctx, self.state)
        self.enterRule(localctx, 76, self.RULE_sum)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 595
            self.product()
            self.state = 600
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==75 or _la==76:
                self.state = 596
                _la = self._input.LA(1)
                if not(_la==75 or _la==76):
                    self._errHandler.recoverInline(self)
                else:
                    self._errHandler.reportMatch(self)
                    self.consume()
                self.state = 597
                self.product()
                self.state = 602
                self._errHandler.sync(self)
                _la = self._input.LA(1)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ProductContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def atom(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(HelioParser.AtomContext)
            else:
                return self.getTypedRuleContext(HelioParser.AtomContext,i)


        def getRuleIndex(self):
            return HelioParser.RULE_product




    def product(self):

        localctx = HelioParser.ProductContext(self, self._ctx, self.state)
        self.enterRule(localctx, 78, self.RULE_product)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 603
            self.atom()
            self.state = 608
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while ((((_la - 28)) & ~0x3f) == 0 and ((1 << (_la - 28)) & 3940649673949185) != 0):
                self.state = 604
                _la = self._input.LA(1)
                if not(((((_la - 28)) & ~0x3f) == 0 and ((1 << (_la - 28)) & 3940649673949185) != 0)):
                    self._errHandler.recoverInline(self)
                else:
                    self._errHandler.reportMatch(self)
                    self.consume()
                self.state = 605
                self.atom()
                self.state = 610
                self._errHandler.sync(self)
                _la = self._input.LA(1)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class AtomContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def literal(self):
            return self.getTypedRuleContext(HelioParser.LiteralContext,0)


        def expr(self):
            return self.getTypedRuleContext(HelioParser.ExprContext,0)


        def name(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(HelioParser.NameContext)
            else:
                return self.getTypedRuleContext(HelioParser.NameContext,i)


        def arguments(self):
            return self.getTypedRuleContext(HelioParser.ArgumentsContext,0)


        def getRuleIndex(self):
            return HelioParser.RULE_atom




    def atom(self):

        localctx = HelioParser.AtomContext(self, self._ctx, self.state)
        self.enterRule(localctx, 80, self.RULE_atom)
        self._la = 0 # Token type
        try:
            self.state = 631
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [81, 82]:
                self.enterOuterAlt(localctx, 1)
                self.state = 611
                self.literal()
                pass
            elif token in [42]:
                self.enterOuterAlt(localctx, 2)
                self.state = 612
                self.match(HelioParser.T__41)
                self.state = 613
                self.expr()
                self.state = 614
                self.match(HelioParser.T__42)
                pass
            elif token in [3, 4, 8, 9, 10, 11, 12, 17, 19, 20, 24, 31, 35, 36, 38, 39, 41, 48, 51, 53, 56, 64, 66, 80]:
                self.enterOuterAlt(localctx, 3)
                self.state = 616
                self.name()
                self.state = 629
                self._errHandler.sync(self)
                token = self._input.LA(1)
                if token in [42]:
                    self.state = 617
                    self.match(HelioParser.T__41)
                    self.state = 619
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    if (((_la) & ~0x3f) == 0 and ((1 << _la) & 83605595031740184) != 0) or ((((_la - 64)) & ~0x3f) == 0 and ((1 << (_la - 64)) & 458773) != 0):
                        self.state = 618
                        self.arguments()


                    self.state = 621
                    self.match(HelioParser.T__42)
                    pass
                elif token in [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 19, 20, 23, 24, 28, 31, 32, 33, 35, 36, 38, 39, 40, 41, 43, 46, 47, 48, 49, 51, 52, 53, 54, 55, 56, 57, 58, 61, 62, 63, 64, 65, 66, 67, 69, 70, 71, 72, 73, 74, 75, 76, 77, 78, 79, 80]:
                    self.state = 626
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    while _la==57:
                        self.state = 622
                        self.match(HelioParser.T__56)
                        self.state = 623
                        self.name()
                        self.state = 628
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)

                    pass
                else:
                    raise NoViableAltException(self)

                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class CallContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def name(self):
            return self.getTypedRuleContext(HelioParser.NameContext,0)


        def arguments(self):
            return self.getTypedRuleContext(HelioParser.ArgumentsContext,0)


        def getRuleIndex(self):
            return HelioParser.RULE_call




    def call(self):

        localctx = HelioParser.CallContext(self, self._ctx, self.state)
        self.enterRule(localctx, 82, self.RULE_call)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 633
            self.name()
            self.state = 634
            self.match(HelioParser.T__41)
            self.state = 636
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if (((_la) & ~0x3f) == 0 and ((1 << _la) & 83605595031740184) != 0) or ((((_la - 64)) & ~0x3f) == 0 and ((1 << (_la - 64)) & 458773) != 0):
                self.state = 635
                self.arguments()


            self.state = 638
            self.match(HelioParser.T__42)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ArgumentsContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def expr(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(HelioParser.ExprContext)
            else:
                return self.getTypedRuleContext(HelioParser.ExprContext,i)


        def getRuleIndex(self):
            return HelioParser.RULE_arguments




    def arguments(self):

        localctx = HelioParser.ArgumentsContext(self, self._ctx, self.state)
        self.enterRule(localctx, 84, self.RULE_arguments)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 640
            self.expr()
            self.state = 645
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==2:
                self.state = 641
                self.match(HelioParser.T__1)
                self.state = 642
                self.expr()
                self.state = 647
                self._errHandler.sync(self)
                _la = self._input.LA(1)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class PathContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def name(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(HelioParser.NameContext)
            else:
                return self.getTypedRuleContext(HelioParser.NameContext,i)


        def getRuleIndex(self):
            return HelioParser.RULE_path




    def path(self):

        localctx = HelioParser.PathContext(self, self._ctx, self.state)
        self.enterRule(localctx, 86, self.RULE_path)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 648
            self.name()
            self.state = 653
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==57:
                self.state = 649
                self.match(HelioParser.T__56)
                self.state = 650
                self.name()
                self.state = 655
                self._errHandler.sync(self)
                _la = self._input.LA(1)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class NamesContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def name(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(HelioParser.NameContext)
            else:
                return self.getTypedRuleContext(HelioParser.NameContext,i)


        def getRuleIndex(self):
            return HelioParser.RULE_names




    def names(self):

        localctx = HelioParser.NamesContext(self, self._ctx, self.state)
        self.enterRule(localctx, 88, self.RULE_names)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 656
            self.name()
            self.state = 661
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==2:
                self.state = 657
                self.match(HelioParser.T__1)
                self.state = 658
                self.name()
                self.state = 663
                self._errHandler.sync(self)
                _la = self._input.LA(1)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class NumberContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def NUMBER(self):
            return self.getToken(HelioParser.NUMBER, 0)

        def getRuleIndex(self):
            return HelioParser.RULE_number




    def number(self):

        localctx = HelioParser.NumberContext(self, self._ctx, self.state)
        self.enterRule(localctx, 90, self.RULE_number)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 664
            self.match(HelioParser.NUMBER)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class LiteralContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def NUMBER(self):
            return self.getToken(HelioParser.NUMBER, 0)

        def ADDRESS(self):
            return self.getToken(HelioParser.ADDRESS, 0)

        def getRuleIndex(self):
            return HelioParser.RULE_literal




    def literal(self):

        localctx = HelioParser.LiteralContext(self, self._ctx, self.state)
        self.enterRule(localctx, 92, self.RULE_literal)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 666
            _la = self._input.LA(1)
            if not(_la==81 or _la==82):
                self._errHandler.recoverInline(self)
            else:
                self._errHandler.reportMatch(self)
                self.consume()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class NameContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def IDENT(self):
            return self.getToken(HelioParser.IDENT, 0)

        def getRuleIndex(self):
            return HelioParser.RULE_name




    def name(self):

        localctx = HelioParser.NameContext(self, self._ctx, self.state)
        self.enterRule(localctx, 94, self.RULE_name)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 668
            _la = self._input.LA(1)
            if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 83601196985229080) != 0) or ((((_la - 64)) & ~0x3f) == 0 and ((1 << (_la - 64)) & 65541) != 0)):
                self._errHandler.recoverInline(self)
            else:
                self._errHandler.reportMatch(self)
                self.consume()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class MemberNameContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def IDENT(self):
            return self.getToken(HelioParser.IDENT, 0)

        def getRuleIndex(self):
            return HelioParser.RULE_memberName




    def memberName(self):

        localctx = HelioParser.MemberNameContext(self, self._ctx, self.state)
        self.enterRule(localctx, 96, self.RULE_memberName)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 670
            _la = self._input.LA(1)
            if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 83601196985221144) != 0) or ((((_la - 64)) & ~0x3f) == 0 and ((1 << (_la - 64)) & 65541) != 0)):
                self._errHandler.recoverInline(self)
            else:
                self._errHandler.reportMatch(self)
                self.consume()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class EdgeNameContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def IDENT(self):
            return self.getToken(HelioParser.IDENT, 0)

        def getRuleIndex(self):
            return HelioParser.RULE_edgeName




    def edgeName(self):

        localctx = HelioParser.EdgeNameContext(self, self._ctx, self.state)
        self.enterRule(localctx, 98, self.RULE_edgeName)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 672
            _la = self._input.LA(1)
            if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 83601196968451864) != 0) or ((((_la - 64)) & ~0x3f) == 0 and ((1 << (_la - 64)) & 65541) != 0)):
                self._errHandler.recoverInline(self)
            else:
                self._errHandler.reportMatch(self)
                self.consume()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class MatchNameContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def IDENT(self):
            return self.getToken(HelioParser.IDENT, 0)

        def getRuleIndex(self):
            return HelioParser.RULE_matchName




    def matchName(self):

        localctx = HelioParser.MatchNameContext(self, self._ctx, self.state)
        self.enterRule(localctx, 100, self.RULE_matchName)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 674
            _la = self._input.LA(1)
            if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 83600372351508248) != 0) or ((((_la - 64)) & ~0x3f) == 0 and ((1 << (_la - 64)) & 65541) != 0)):
                self._errHandler.recoverInline(self)
            else:
                self._errHandler.reportMatch(self)
                self.consume()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class StatementNameContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def IDENT(self):
            return self.getToken(HelioParser.IDENT, 0)

        def getRuleIndex(self):
            return HelioParser.RULE_statementName




    def statementName(self):

        localctx = HelioParser.StatementNameContext(self, self._ctx, self.state)
        self.enterRule(localctx, 102, self.RULE_statementName)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 676
            _la = self._input.LA(1)
            if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 81349397171543832) != 0) or ((((_la - 64)) & ~0x3f) == 0 and ((1 << (_la - 64)) & 65541) != 0)):
                self._errHandler.recoverInline(self)
            else:
                self._errHandler.reportMatch(self)
                self.consume()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx





