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
        4,1,24,146,2,0,7,0,2,1,7,1,2,2,7,2,2,3,7,3,2,4,7,4,2,5,7,5,2,6,7,
        6,2,7,7,7,2,8,7,8,2,9,7,9,2,10,7,10,2,11,7,11,2,12,7,12,2,13,7,13,
        2,14,7,14,2,15,7,15,2,16,7,16,1,0,5,0,36,8,0,10,0,12,0,39,9,0,1,
        0,1,0,5,0,43,8,0,10,0,12,0,46,9,0,5,0,48,8,0,10,0,12,0,51,9,0,1,
        0,1,0,1,1,1,1,1,1,1,2,1,2,1,2,1,3,1,3,1,4,1,4,1,4,5,4,66,8,4,10,
        4,12,4,69,9,4,1,5,1,5,1,5,5,5,74,8,5,10,5,12,5,77,9,5,1,5,1,5,1,
        6,1,6,3,6,83,8,6,1,6,1,6,1,6,1,6,3,6,89,8,6,1,6,1,6,3,6,93,8,6,1,
        7,1,7,3,7,97,8,7,1,7,1,7,1,8,1,8,3,8,103,8,8,1,8,3,8,106,8,8,1,9,
        1,9,1,10,1,10,1,11,1,11,1,12,1,12,1,12,1,12,1,12,1,12,1,12,1,12,
        5,12,122,8,12,10,12,12,12,125,9,12,1,12,1,12,1,13,4,13,130,8,13,
        11,13,12,13,131,1,13,3,13,135,8,13,1,14,1,14,1,15,1,15,1,15,3,15,
        142,8,15,1,16,1,16,1,16,0,0,17,0,2,4,6,8,10,12,14,16,18,20,22,24,
        26,28,30,32,0,5,1,0,11,14,1,0,19,20,2,0,15,15,19,19,1,0,8,10,1,0,
        15,20,145,0,37,1,0,0,0,2,54,1,0,0,0,4,57,1,0,0,0,6,60,1,0,0,0,8,
        62,1,0,0,0,10,75,1,0,0,0,12,92,1,0,0,0,14,94,1,0,0,0,16,100,1,0,
        0,0,18,107,1,0,0,0,20,109,1,0,0,0,22,111,1,0,0,0,24,113,1,0,0,0,
        26,134,1,0,0,0,28,136,1,0,0,0,30,138,1,0,0,0,32,143,1,0,0,0,34,36,
        5,1,0,0,35,34,1,0,0,0,36,39,1,0,0,0,37,35,1,0,0,0,37,38,1,0,0,0,
        38,49,1,0,0,0,39,37,1,0,0,0,40,44,3,4,2,0,41,43,5,1,0,0,42,41,1,
        0,0,0,43,46,1,0,0,0,44,42,1,0,0,0,44,45,1,0,0,0,45,48,1,0,0,0,46,
        44,1,0,0,0,47,40,1,0,0,0,48,51,1,0,0,0,49,47,1,0,0,0,49,50,1,0,0,
        0,50,52,1,0,0,0,51,49,1,0,0,0,52,53,5,0,0,1,53,1,1,0,0,0,54,55,3,
        4,2,0,55,56,5,0,0,1,56,3,1,0,0,0,57,58,3,6,3,0,58,59,3,8,4,0,59,
        5,1,0,0,0,60,61,7,0,0,0,61,7,1,0,0,0,62,67,3,10,5,0,63,64,5,2,0,
        0,64,66,3,10,5,0,65,63,1,0,0,0,66,69,1,0,0,0,67,65,1,0,0,0,67,68,
        1,0,0,0,68,9,1,0,0,0,69,67,1,0,0,0,70,71,3,16,8,0,71,72,5,3,0,0,
        72,74,1,0,0,0,73,70,1,0,0,0,74,77,1,0,0,0,75,73,1,0,0,0,75,76,1,
        0,0,0,76,78,1,0,0,0,77,75,1,0,0,0,78,79,3,12,6,0,79,11,1,0,0,0,80,
        82,3,16,8,0,81,83,5,3,0,0,82,81,1,0,0,0,82,83,1,0,0,0,83,84,1,0,
        0,0,84,85,3,14,7,0,85,93,1,0,0,0,86,88,3,16,8,0,87,89,3,24,12,0,
        88,87,1,0,0,0,88,89,1,0,0,0,89,93,1,0,0,0,90,93,3,24,12,0,91,93,
        3,14,7,0,92,80,1,0,0,0,92,86,1,0,0,0,92,90,1,0,0,0,92,91,1,0,0,0,
        93,13,1,0,0,0,94,96,5,4,0,0,95,97,3,8,4,0,96,95,1,0,0,0,96,97,1,
        0,0,0,97,98,1,0,0,0,98,99,5,5,0,0,99,15,1,0,0,0,100,102,3,18,9,0,
        101,103,3,20,10,0,102,101,1,0,0,0,102,103,1,0,0,0,103,105,1,0,0,
        0,104,106,3,22,11,0,105,104,1,0,0,0,105,106,1,0,0,0,106,17,1,0,0,
        0,107,108,5,19,0,0,108,19,1,0,0,0,109,110,5,15,0,0,110,21,1,0,0,
        0,111,112,7,1,0,0,112,23,1,0,0,0,113,114,5,6,0,0,114,115,3,26,13,
        0,115,116,5,2,0,0,116,117,3,28,14,0,117,118,5,2,0,0,118,123,3,30,
        15,0,119,120,5,2,0,0,120,122,3,32,16,0,121,119,1,0,0,0,122,125,1,
        0,0,0,123,121,1,0,0,0,123,124,1,0,0,0,124,126,1,0,0,0,125,123,1,
        0,0,0,126,127,5,7,0,0,127,25,1,0,0,0,128,130,5,19,0,0,129,128,1,
        0,0,0,130,131,1,0,0,0,131,129,1,0,0,0,131,132,1,0,0,0,132,135,1,
        0,0,0,133,135,5,15,0,0,134,129,1,0,0,0,134,133,1,0,0,0,135,27,1,
        0,0,0,136,137,7,2,0,0,137,29,1,0,0,0,138,141,3,32,16,0,139,140,7,
        3,0,0,140,142,3,32,16,0,141,139,1,0,0,0,141,142,1,0,0,0,142,31,1,
        0,0,0,143,144,7,4,0,0,144,33,1,0,0,0,15,37,44,49,67,75,82,88,92,
        96,102,105,123,131,134,141
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
    RULE_length = 14
    RULE_value = 15
    RULE_literal = 16

    ruleNames =  [ "request", "oneChange", "change", "verb", "list_", "entry", 
                   "item", "block", "head", "kind", "id", "name", "element", 
                   "type", "length", "value", "literal" ]

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
            self.state = 37
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==1:
                self.state = 34
                self.match(RequestParser.T__0)
                self.state = 39
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 49
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while (((_la) & ~0x3f) == 0 and ((1 << _la) & 30720) != 0):
                self.state = 40
                self.change()
                self.state = 44
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==1:
                    self.state = 41
                    self.match(RequestParser.T__0)
                    self.state = 46
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 51
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 52
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
            self.state = 54
            self.change()
            self.state = 55
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
            self.state = 57
            self.verb()
            self.state = 58
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
            self.state = 60
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
            self.state = 62
            self.entry()
            self.state = 67
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==2:
                self.state = 63
                self.match(RequestParser.T__1)
                self.state = 64
                self.entry()
                self.state = 69
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
            self.state = 75
            self._errHandler.sync(self)
            _alt = self._interp.adaptivePredict(self._input,4,self._ctx)
            while _alt!=2 and _alt!=ATN.INVALID_ALT_NUMBER:
                if _alt==1:
                    self.state = 70
                    self.head()
                    self.state = 71
                    self.match(RequestParser.T__2) 
                self.state = 77
                self._errHandler.sync(self)
                _alt = self._interp.adaptivePredict(self._input,4,self._ctx)

            self.state = 78
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
            self.state = 92
            self._errHandler.sync(self)
            la_ = self._interp.adaptivePredict(self._input,7,self._ctx)
            if la_ == 1:
                self.enterOuterAlt(localctx, 1)
                self.state = 80
                self.head()
                self.state = 82
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==3:
                    self.state = 81
                    self.match(RequestParser.T__2)


                self.state = 84
                self.block()
                pass

            elif la_ == 2:
                self.enterOuterAlt(localctx, 2)
                self.state = 86
                self.head()
                self.state = 88
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==6:
                    self.state = 87
                    self.element()


                pass

            elif la_ == 3:
                self.enterOuterAlt(localctx, 3)
                self.state = 90
                self.element()
                pass

            elif la_ == 4:
                self.enterOuterAlt(localctx, 4)
                self.state = 91
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
            self.state = 94
            self.match(RequestParser.T__3)
            self.state = 96
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if (((_la) & ~0x3f) == 0 and ((1 << _la) & 524368) != 0):
                self.state = 95
                self.list_()


            self.state = 98
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
            self.state = 100
            self.kind()
            self.state = 102
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==15:
                self.state = 101
                self.id_()


            self.state = 105
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==19 or _la==20:
                self.state = 104
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
            self.state = 107
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
            self.state = 109
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
            self.state = 111
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


        def length(self):
            return self.getTypedRuleContext(RequestParser.LengthContext,0)


        def value(self):
            return self.getTypedRuleContext(RequestParser.ValueContext,0)


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
            self.state = 113
            self.match(RequestParser.T__5)
            self.state = 114
            self.type_()
            self.state = 115
            self.match(RequestParser.T__1)
            self.state = 116
            self.length()
            self.state = 117
            self.match(RequestParser.T__1)
            self.state = 118
            self.value()
            self.state = 123
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==2:
                self.state = 119
                self.match(RequestParser.T__1)
                self.state = 120
                self.literal()
                self.state = 125
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


    class LengthContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def WORD(self):
            return self.getToken(RequestParser.WORD, 0)

        def NUMBER(self):
            return self.getToken(RequestParser.NUMBER, 0)

        def getRuleIndex(self):
            return RequestParser.RULE_length




    def length(self):

        localctx = RequestParser.LengthContext(self, self._ctx, self.state)
        self.enterRule(localctx, 28, self.RULE_length)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 136
            _la = self._input.LA(1)
            if not(_la==15 or _la==19):
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
        self.enterRule(localctx, 30, self.RULE_value)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 138
            self.literal()
            self.state = 141
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if (((_la) & ~0x3f) == 0 and ((1 << _la) & 1792) != 0):
                self.state = 139
                _la = self._input.LA(1)
                if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 1792) != 0)):
                    self._errHandler.recoverInline(self)
                else:
                    self._errHandler.reportMatch(self)
                    self.consume()
                self.state = 140
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
        self.enterRule(localctx, 32, self.RULE_literal)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 143
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





