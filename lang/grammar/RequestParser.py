# Generated from Request.g4 by ANTLR 4.13.2
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
        4,1,24,144,2,0,7,0,2,1,7,1,2,2,7,2,2,3,7,3,2,4,7,4,2,5,7,5,2,6,7,
        6,2,7,7,7,2,8,7,8,2,9,7,9,2,10,7,10,2,11,7,11,2,12,7,12,2,13,7,13,
        2,14,7,14,2,15,7,15,1,0,5,0,34,8,0,10,0,12,0,37,9,0,1,0,1,0,5,0,
        41,8,0,10,0,12,0,44,9,0,5,0,46,8,0,10,0,12,0,49,9,0,1,0,1,0,1,1,
        1,1,1,1,1,2,1,2,1,2,1,3,1,3,1,4,1,4,1,4,5,4,64,8,4,10,4,12,4,67,
        9,4,1,5,1,5,1,5,5,5,72,8,5,10,5,12,5,75,9,5,1,5,1,5,1,6,1,6,3,6,
        81,8,6,1,6,1,6,1,6,1,6,3,6,87,8,6,1,6,1,6,3,6,91,8,6,1,7,1,7,3,7,
        95,8,7,1,7,1,7,1,8,1,8,3,8,101,8,8,1,8,3,8,104,8,8,1,9,1,9,1,10,
        1,10,1,11,1,11,1,12,1,12,1,12,1,12,1,12,1,12,1,12,1,12,5,12,120,
        8,12,10,12,12,12,123,9,12,3,12,125,8,12,1,12,1,12,1,13,4,13,130,
        8,13,11,13,12,13,131,1,13,3,13,135,8,13,1,14,1,14,1,14,3,14,140,
        8,14,1,15,1,15,1,15,0,0,16,0,2,4,6,8,10,12,14,16,18,20,22,24,26,
        28,30,0,4,1,0,11,14,1,0,19,20,1,0,8,10,1,0,15,20,145,0,35,1,0,0,
        0,2,52,1,0,0,0,4,55,1,0,0,0,6,58,1,0,0,0,8,60,1,0,0,0,10,73,1,0,
        0,0,12,90,1,0,0,0,14,92,1,0,0,0,16,98,1,0,0,0,18,105,1,0,0,0,20,
        107,1,0,0,0,22,109,1,0,0,0,24,111,1,0,0,0,26,134,1,0,0,0,28,136,
        1,0,0,0,30,141,1,0,0,0,32,34,5,1,0,0,33,32,1,0,0,0,34,37,1,0,0,0,
        35,33,1,0,0,0,35,36,1,0,0,0,36,47,1,0,0,0,37,35,1,0,0,0,38,42,3,
        4,2,0,39,41,5,1,0,0,40,39,1,0,0,0,41,44,1,0,0,0,42,40,1,0,0,0,42,
        43,1,0,0,0,43,46,1,0,0,0,44,42,1,0,0,0,45,38,1,0,0,0,46,49,1,0,0,
        0,47,45,1,0,0,0,47,48,1,0,0,0,48,50,1,0,0,0,49,47,1,0,0,0,50,51,
        5,0,0,1,51,1,1,0,0,0,52,53,3,4,2,0,53,54,5,0,0,1,54,3,1,0,0,0,55,
        56,3,6,3,0,56,57,3,8,4,0,57,5,1,0,0,0,58,59,7,0,0,0,59,7,1,0,0,0,
        60,65,3,10,5,0,61,62,5,2,0,0,62,64,3,10,5,0,63,61,1,0,0,0,64,67,
        1,0,0,0,65,63,1,0,0,0,65,66,1,0,0,0,66,9,1,0,0,0,67,65,1,0,0,0,68,
        69,3,16,8,0,69,70,5,3,0,0,70,72,1,0,0,0,71,68,1,0,0,0,72,75,1,0,
        0,0,73,71,1,0,0,0,73,74,1,0,0,0,74,76,1,0,0,0,75,73,1,0,0,0,76,77,
        3,12,6,0,77,11,1,0,0,0,78,80,3,16,8,0,79,81,5,3,0,0,80,79,1,0,0,
        0,80,81,1,0,0,0,81,82,1,0,0,0,82,83,3,14,7,0,83,91,1,0,0,0,84,86,
        3,16,8,0,85,87,3,24,12,0,86,85,1,0,0,0,86,87,1,0,0,0,87,91,1,0,0,
        0,88,91,3,24,12,0,89,91,3,14,7,0,90,78,1,0,0,0,90,84,1,0,0,0,90,
        88,1,0,0,0,90,89,1,0,0,0,91,13,1,0,0,0,92,94,5,4,0,0,93,95,3,8,4,
        0,94,93,1,0,0,0,94,95,1,0,0,0,95,96,1,0,0,0,96,97,5,5,0,0,97,15,
        1,0,0,0,98,100,3,18,9,0,99,101,3,20,10,0,100,99,1,0,0,0,100,101,
        1,0,0,0,101,103,1,0,0,0,102,104,3,22,11,0,103,102,1,0,0,0,103,104,
        1,0,0,0,104,17,1,0,0,0,105,106,5,19,0,0,106,19,1,0,0,0,107,108,5,
        15,0,0,108,21,1,0,0,0,109,110,7,1,0,0,110,23,1,0,0,0,111,112,5,6,
        0,0,112,113,3,26,13,0,113,114,5,2,0,0,114,124,3,28,14,0,115,116,
        5,2,0,0,116,121,3,28,14,0,117,118,5,2,0,0,118,120,3,30,15,0,119,
        117,1,0,0,0,120,123,1,0,0,0,121,119,1,0,0,0,121,122,1,0,0,0,122,
        125,1,0,0,0,123,121,1,0,0,0,124,115,1,0,0,0,124,125,1,0,0,0,125,
        126,1,0,0,0,126,127,5,7,0,0,127,25,1,0,0,0,128,130,5,19,0,0,129,
        128,1,0,0,0,130,131,1,0,0,0,131,129,1,0,0,0,131,132,1,0,0,0,132,
        135,1,0,0,0,133,135,5,15,0,0,134,129,1,0,0,0,134,133,1,0,0,0,135,
        27,1,0,0,0,136,139,3,30,15,0,137,138,7,2,0,0,138,140,3,30,15,0,139,
        137,1,0,0,0,139,140,1,0,0,0,140,29,1,0,0,0,141,142,7,3,0,0,142,31,
        1,0,0,0,16,35,42,47,65,73,80,86,90,94,100,103,121,124,131,134,139
    ]

class RequestParser ( Parser ):

    grammarFileName = "Request.g4"

    atn = ATNDeserializer().deserialize(serializedATN())

    decisionsToDFA = [ DFA(ds, i) for i, ds in enumerate(atn.decisionToState) ]

    sharedContextCache = PredictionContextCache()

    literalNames = [ "<INVALID>", "';'", "','", "':'", "'['", "']'", "'('", 
                     "')'", "'/'", "'&'", "'..'", "'create'", "'update'", 
                     "'delete'", "'replace'" ]

    symbolicNames = [ "<INVALID>", "<INVALID>", "<INVALID>", "<INVALID>", 
                      "<INVALID>", "<INVALID>", "<INVALID>", "<INVALID>", 
                      "<INVALID>", "<INVALID>", "<INVALID>", "CREATE", "UPDATE", 
                      "DELETE", "REPLACE", "NUMBER", "IP4", "MAC", "IP6", 
                      "WORD", "STRING", "COMMENT", "SPACE", "BAD_LITERAL", 
                      "STRAY" ]

    RULE_request = 0
    RULE_oneChange = 1
    RULE_change = 2
    RULE_verb = 3
    RULE_list_ = 4
    RULE_entry = 5
    RULE_item = 6
    RULE_block = 7
    RULE_head = 8
    RULE_kind = 9
    RULE_id = 10
    RULE_name = 11
    RULE_element = 12
    RULE_type = 13
    RULE_value = 14
    RULE_literal = 15

    ruleNames =  [ "request", "oneChange", "change", "verb", "list_", "entry", 
                   "item", "block", "head", "kind", "id", "name", "element", 
                   "type", "value", "literal" ]

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
    CREATE=11
    UPDATE=12
    DELETE=13
    REPLACE=14
    NUMBER=15
    IP4=16
    MAC=17
    IP6=18
    WORD=19
    STRING=20
    COMMENT=21
    SPACE=22
    BAD_LITERAL=23
    STRAY=24

    def __init__(self, input:TokenStream, output:TextIO = sys.stdout):
        super().__init__(input, output)
        self.checkVersion("4.13.2")
        self._interp = ParserATNSimulator(self, self.atn, self.decisionsToDFA, self.sharedContextCache)
        self._predicates = None




    class RequestContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def EOF(self):
            return self.getToken(RequestParser.EOF, 0)

        def change(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(RequestParser.ChangeContext)
            else:
                return self.getTypedRuleContext(RequestParser.ChangeContext,i)


        def getRuleIndex(self):
            return RequestParser.RULE_request




    def request(self):

        localctx = RequestParser.RequestContext(self, self._ctx, self.state)
        self.enterRule(localctx, 0, self.RULE_request)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 35
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==1:
                self.state = 32
                self.match(RequestParser.T__0)
                self.state = 37
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 47
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while (((_la) & ~0x3f) == 0 and ((1 << _la) & 30720) != 0):
                self.state = 38
                self.change()
                self.state = 42
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==1:
                    self.state = 39
                    self.match(RequestParser.T__0)
                    self.state = 44
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 49
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 50
            self.match(RequestParser.EOF)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class OneChangeContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def change(self):
            return self.getTypedRuleContext(RequestParser.ChangeContext,0)


        def EOF(self):
            return self.getToken(RequestParser.EOF, 0)

        def getRuleIndex(self):
            return RequestParser.RULE_oneChange




    def oneChange(self):

        localctx = RequestParser.OneChangeContext(self, self._ctx, self.state)
        self.enterRule(localctx, 2, self.RULE_oneChange)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 52
            self.change()
            self.state = 53
            self.match(RequestParser.EOF)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ChangeContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def verb(self):
            return self.getTypedRuleContext(RequestParser.VerbContext,0)


        def list_(self):
            return self.getTypedRuleContext(RequestParser.List_Context,0)


        def getRuleIndex(self):
            return RequestParser.RULE_change




    def change(self):

        localctx = RequestParser.ChangeContext(self, self._ctx, self.state)
        self.enterRule(localctx, 4, self.RULE_change)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 55
            self.verb()
            self.state = 56
            self.list_()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class VerbContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def CREATE(self):
            return self.getToken(RequestParser.CREATE, 0)

        def UPDATE(self):
            return self.getToken(RequestParser.UPDATE, 0)

        def DELETE(self):
            return self.getToken(RequestParser.DELETE, 0)

        def REPLACE(self):
            return self.getToken(RequestParser.REPLACE, 0)

        def getRuleIndex(self):
            return RequestParser.RULE_verb




    def verb(self):

        localctx = RequestParser.VerbContext(self, self._ctx, self.state)
        self.enterRule(localctx, 6, self.RULE_verb)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 58
            _la = self._input.LA(1)
            if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 30720) != 0)):
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


    class List_Context(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def entry(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(RequestParser.EntryContext)
            else:
                return self.getTypedRuleContext(RequestParser.EntryContext,i)


        def getRuleIndex(self):
            return RequestParser.RULE_list_




    def list_(self):

        localctx = RequestParser.List_Context(self, self._ctx, self.state)
        self.enterRule(localctx, 8, self.RULE_list_)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 60
            self.entry()
            self.state = 65
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==2:
                self.state = 61
                self.match(RequestParser.T__1)
                self.state = 62
                self.entry()
                self.state = 67
                self._errHandler.sync(self)
                _la = self._input.LA(1)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class EntryContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def item(self):
            return self.getTypedRuleContext(RequestParser.ItemContext,0)


        def head(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(RequestParser.HeadContext)
            else:
                return self.getTypedRuleContext(RequestParser.HeadContext,i)


        def getRuleIndex(self):
            return RequestParser.RULE_entry




    def entry(self):

        localctx = RequestParser.EntryContext(self, self._ctx, self.state)
        self.enterRule(localctx, 10, self.RULE_entry)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 73
            self._errHandler.sync(self)
            _alt = self._interp.adaptivePredict(self._input,4,self._ctx)
            while _alt!=2 and _alt!=ATN.INVALID_ALT_NUMBER:
                if _alt==1:
                    self.state = 68
                    self.head()
                    self.state = 69
                    self.match(RequestParser.T__2) 
                self.state = 75
                self._errHandler.sync(self)
                _alt = self._interp.adaptivePredict(self._input,4,self._ctx)

            self.state = 76
            self.item()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ItemContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def head(self):
            return self.getTypedRuleContext(RequestParser.HeadContext,0)


        def block(self):
            return self.getTypedRuleContext(RequestParser.BlockContext,0)


        def element(self):
            return self.getTypedRuleContext(RequestParser.ElementContext,0)


        def getRuleIndex(self):
            return RequestParser.RULE_item




    def item(self):

        localctx = RequestParser.ItemContext(self, self._ctx, self.state)
        self.enterRule(localctx, 12, self.RULE_item)
        self._la = 0 # Token type
        try:
            self.state = 90
            self._errHandler.sync(self)
            la_ = self._interp.adaptivePredict(self._input,7,self._ctx)
            if la_ == 1:
                self.enterOuterAlt(localctx, 1)
                self.state = 78
                self.head()
                self.state = 80
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==3:
                    self.state = 79
                    self.match(RequestParser.T__2)


                self.state = 82
                self.block()
                pass

            elif la_ == 2:
                self.enterOuterAlt(localctx, 2)
                self.state = 84
                self.head()
                self.state = 86
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==6:
                    self.state = 85
                    self.element()


                pass

            elif la_ == 3:
                self.enterOuterAlt(localctx, 3)
                self.state = 88
                self.element()
                pass

            elif la_ == 4:
                self.enterOuterAlt(localctx, 4)
                self.state = 89
                self.block()
                pass


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

        def list_(self):
            return self.getTypedRuleContext(RequestParser.List_Context,0)


        def getRuleIndex(self):
            return RequestParser.RULE_block




    def block(self):

        localctx = RequestParser.BlockContext(self, self._ctx, self.state)
        self.enterRule(localctx, 14, self.RULE_block)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 92
            self.match(RequestParser.T__3)
            self.state = 94
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if (((_la) & ~0x3f) == 0 and ((1 << _la) & 524368) != 0):
                self.state = 93
                self.list_()


            self.state = 96
            self.match(RequestParser.T__4)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class HeadContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def kind(self):
            return self.getTypedRuleContext(RequestParser.KindContext,0)


        def id_(self):
            return self.getTypedRuleContext(RequestParser.IdContext,0)


        def name(self):
            return self.getTypedRuleContext(RequestParser.NameContext,0)


        def getRuleIndex(self):
            return RequestParser.RULE_head




    def head(self):

        localctx = RequestParser.HeadContext(self, self._ctx, self.state)
        self.enterRule(localctx, 16, self.RULE_head)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 98
            self.kind()
            self.state = 100
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==15:
                self.state = 99
                self.id_()


            self.state = 103
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==19 or _la==20:
                self.state = 102
                self.name()


        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class KindContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def WORD(self):
            return self.getToken(RequestParser.WORD, 0)

        def getRuleIndex(self):
            return RequestParser.RULE_kind




    def kind(self):

        localctx = RequestParser.KindContext(self, self._ctx, self.state)
        self.enterRule(localctx, 18, self.RULE_kind)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 105
            self.match(RequestParser.WORD)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class IdContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def NUMBER(self):
            return self.getToken(RequestParser.NUMBER, 0)

        def getRuleIndex(self):
            return RequestParser.RULE_id




    def id_(self):

        localctx = RequestParser.IdContext(self, self._ctx, self.state)
        self.enterRule(localctx, 20, self.RULE_id)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 107
            self.match(RequestParser.NUMBER)
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

        def WORD(self):
            return self.getToken(RequestParser.WORD, 0)

        def STRING(self):
            return self.getToken(RequestParser.STRING, 0)

        def getRuleIndex(self):
            return RequestParser.RULE_name




    def name(self):

        localctx = RequestParser.NameContext(self, self._ctx, self.state)
        self.enterRule(localctx, 22, self.RULE_name)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 109
            _la = self._input.LA(1)
            if not(_la==19 or _la==20):
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


    class ElementContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def type_(self):
            return self.getTypedRuleContext(RequestParser.TypeContext,0)


        def value(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(RequestParser.ValueContext)
            else:
                return self.getTypedRuleContext(RequestParser.ValueContext,i)


        def literal(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(RequestParser.LiteralContext)
            else:
                return self.getTypedRuleContext(RequestParser.LiteralContext,i)


        def getRuleIndex(self):
            return RequestParser.RULE_element




    def element(self):

        localctx = RequestParser.ElementContext(self, self._ctx, self.state)
        self.enterRule(localctx, 24, self.RULE_element)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 111
            self.match(RequestParser.T__5)
            self.state = 112
            self.type_()
            self.state = 113
            self.match(RequestParser.T__1)
            self.state = 114
            self.value()
            self.state = 124
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==2:
                self.state = 115
                self.match(RequestParser.T__1)
                self.state = 116
                self.value()
                self.state = 121
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==2:
                    self.state = 117
                    self.match(RequestParser.T__1)
                    self.state = 118
                    self.literal()
                    self.state = 123
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)



            self.state = 126
            self.match(RequestParser.T__6)
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

        def WORD(self, i:int=None):
            if i is None:
                return self.getTokens(RequestParser.WORD)
            else:
                return self.getToken(RequestParser.WORD, i)

        def NUMBER(self):
            return self.getToken(RequestParser.NUMBER, 0)

        def getRuleIndex(self):
            return RequestParser.RULE_type




    def type_(self):

        localctx = RequestParser.TypeContext(self, self._ctx, self.state)
        self.enterRule(localctx, 26, self.RULE_type)
        self._la = 0 # Token type
        try:
            self.state = 134
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [19]:
                self.enterOuterAlt(localctx, 1)
                self.state = 129 
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while True:
                    self.state = 128
                    self.match(RequestParser.WORD)
                    self.state = 131 
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    if not (_la==19):
                        break

                pass
            elif token in [15]:
                self.enterOuterAlt(localctx, 2)
                self.state = 133
                self.match(RequestParser.NUMBER)
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


    class ValueContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def literal(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(RequestParser.LiteralContext)
            else:
                return self.getTypedRuleContext(RequestParser.LiteralContext,i)


        def getRuleIndex(self):
            return RequestParser.RULE_value




    def value(self):

        localctx = RequestParser.ValueContext(self, self._ctx, self.state)
        self.enterRule(localctx, 28, self.RULE_value)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 136
            self.literal()
            self.state = 139
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if (((_la) & ~0x3f) == 0 and ((1 << _la) & 1792) != 0):
                self.state = 137
                _la = self._input.LA(1)
                if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 1792) != 0)):
                    self._errHandler.recoverInline(self)
                else:
                    self._errHandler.reportMatch(self)
                    self.consume()
                self.state = 138
                self.literal()


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
            return self.getToken(RequestParser.NUMBER, 0)

        def IP4(self):
            return self.getToken(RequestParser.IP4, 0)

        def IP6(self):
            return self.getToken(RequestParser.IP6, 0)

        def MAC(self):
            return self.getToken(RequestParser.MAC, 0)

        def WORD(self):
            return self.getToken(RequestParser.WORD, 0)

        def STRING(self):
            return self.getToken(RequestParser.STRING, 0)

        def getRuleIndex(self):
            return RequestParser.RULE_literal




    def literal(self):

        localctx = RequestParser.LiteralContext(self, self._ctx, self.state)
        self.enterRule(localctx, 30, self.RULE_literal)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 141
            _la = self._input.LA(1)
            if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 2064384) != 0)):
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





