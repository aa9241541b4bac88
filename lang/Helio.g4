// The grammar of `.hp` files. It is LL(1) but for one word (`max` behind an array type), so that the
// generated parser is a set of token switches. Words that may also be names are listed in `name`;
// left-factored alternatives (`member`, `statement`, `elseBranch`) are what that costs. What the
// grammar lets pass for a better message (`a < b < c`, a second `else`) is refused in `lang/syntax/program.py`.
//
// The Python parser is fed by `lexer.py`, which makes the same tokens faster; a test compares both.
grammar Helio;

// ---- file ------------------------------------------------------------------------------------

file : importLine* (header | constant | pipeline)* EOF ;

importLine : 'import' module (',' module)* ;

module : name ('.' name)* ;

// ---- headers ---------------------------------------------------------------------------------

header : 'link'? 'header' name '{' member* '}' ;

member
    : memberName? ':' fieldRest
    | ('size' | 'extent' | 'accept' | 'require') (':' fieldRest | expr)
    | 'payload' (':' fieldRest | 'when' expr | 'to' sum)
    | 'when' name ('or' name)* '{' field* '}'
    ;

field : name? ':' fieldRest ;

fieldRest : type (tlv | ('=' sum)? ('{' field* '}')?) ;

tlv : '(' tlvPart (',' tlvPart)* ')' ('within' sum)? 'max' number '{' tlvOption* '}' ;

tlvPart : name (':' type | sum) | ':' type ;   // `kind : u8`, `bare 0 | 1`, `size length + 2`

tlvOption : name 'when' name '=' range_ ('|' range_)* '{' field* '}' ;

type : name ('[' sum ']' ('max' number)?)? ;

constant : 'const' name '=' set ;

// ---- pipelines -------------------------------------------------------------------------------

pipeline : 'pipeline' name '{' declaration* '}' ;

declaration : constant | ports | graph | element | rule_ | state | registers | event | fallback | action | stage | hook | run ;

ports : 'ports' role (',' role)* ;

role : name ('at' name ('.' name)?)? ('link' name)? ;

graph : 'parser' '{' (edge | chain)* '}' ;

edge
    : edgeName '->' nodeName ('as' name)? ('when' test ('and' test)*)?
      ('write' known (',' known)*)?
      ('if' name name)? ('on' (names | 'push'))?     // `if it fits`
    ;

chain : 'chain' name 'by' name 'max' number '{' chainMember* '}' ;

chainMember : edgeName ('as' name)? 'when' range_ ('|' range_)* ('write' known)? ;

test : name name? '=' range_ ('|' range_)* ;

range_ : known ('..' known | '&' known)? ;

element
    : 'ie' name '=' number ',' name ('|' name)* ('[' number ']')?
      ('{' symbol (',' symbol)* '}')?
    ;

symbol : name '=' number 'reserved'? ;

rule_ : 'rule' name '[' number ']' 'named'? ('by' name)? '{' clause* '}' ;

clause
    : 'match' matchLine+
    | 'gives' name ((',' name)+ | ('|' name)+)?
    | 'spread' name '[' number '..' number ']' ('by' name)? 'over' call
    | 'lists' name '[' number '..' number ']'
    | 'counts' names
    | 'meters' names ('in' name)?
    | ('priority' | 'precedence') name
    | 'emit' name '{' (assign (',' assign)*)? '}' name number name   // `… after 300 idle`
    ;

matchLine : matchName name path ;

state : 'state' name '[' number ']' '{' stateClause* '}' ;

stateClause
    : ('match' | 'gives') slot (',' slot)*
    | 'counts' names
    | 'meters' names ('in' name)?
    | 'ages' number 'idle'?
    ;

slot : name ':' name ;

registers : 'registers' name '[' number ']' ('[' number ']')? ':' name ;

event
    : 'event' name '{' (slot (',' slot)*)? '}' ('limit' number 'per' name (',' number 'by' names)?)?
    ;

fallback : 'default' verdict ;

action : 'action' name '(' name ')' block ;

stage : 'stage' name block ;

hook : 'on' name '{' (verdict | 'continue' | 'reply' 'icmp') '}' ;

run : 'run' name ('->' name)* ;

// ---- statements ------------------------------------------------------------------------------

block : '{' statement* '}' ;

statement
    : ifElse
    | matchOn
    | find otherwise?
    | recall otherwise?
    | remember otherwise?
    | 'forget' name '(' assign (',' assign)* ')'
    | exchange otherwise?
    | 'choose' name 'from' path ('(' assign (',' assign)* ')')? ('over' call)? otherwise?
    | 'push' pushed ('/' pushed)* (('before' | 'behind') nodeName)?
    | 'append' pushed ('/' pushed)* 'behind' nodeName
    | 'pop' ('to' nodeName | popped)
    | 'clamp' name
    | 'let' name '=' sum
    | 'swap' path ',' path
    | 'forward' path 'via' value
    | 'bridge' path
    | 'copy' block
    | 'mirror' path ('max' number)?
    | 'each' name name 'in' name block
    | 'queue' sum
    | 'count' name
    | 'emit' name '{' (assign (',' assign)*)? '}'
    | 'reply' 'icmp' name
    | verdict
    | statementName ('(' name ')' | index? ('.' step)* becomes sum)
    ;

find : 'find' name ('(' assign (',' assign)* ')' | 'from' path)? ;

recall : 'recall' name '(' assign (',' assign)* ')' ;

remember : 'remember' name '(' assign (',' assign)* ')' ;

exchange : 'exchange' path 'from' sum 'to' sum ;

becomes : '=' | '+=' | '-=' | '+%=' | '-%=' | '|=' | '&=' | '^=' ;

ifElse : 'if' asked block elseBranch* ;

elseBranch : 'else' ('if' asked)? block ;

asked : find | recall | remember | exchange | expr ;

matchOn : 'match' sum '{' arm* '}' ;

arm : pattern ('|' pattern)* name? '=>' (block | statement) ','? ;

pattern : (statementName | literal) ('..' known | '/' NUMBER)? ;

otherwise : 'else' block ;

pushed : nodeName ('{' (assign (',' assign)*)? '}')? ;

popped : poppedName ('[' place ']')? ;

assign : path '=' sum ;

verdict : 'pass' | 'drop' | 'default' | 'send' 'back' ;

// ---- expressions -----------------------------------------------------------------------------

expr : conjunction ('or' conjunction)* ;

conjunction : negation ('and' negation)* ;

negation : 'not'* comparison ;

comparison
    : 'meter' name ('from' name)? 'is' name ('|' name)*
    | sum (('=' | '!=' | '<' | '<=' | '>' | '>=') sum | 'in' set | 'is' name | 'gives' name)*
    ;

set : '{' member_ (',' member_)* '}' | member_ ;

member_ : sum ('..' sum)? ;                       // a prefix is a `sum`: 10.0.0.0/8

// How tightly each operator binds is in `lang/tree/operators.py`.

sum
    : factor
      (('*' | '/' | '%' | '*%' | '+' | '-' | '+%' | '-%' | '+|' | '-|' | '<<' | '>>' | '&' | '^' | '|') factor)*
    ;

factor : '~'* atom ;

atom : literal | '(' expr ')' | name ('(' arguments? ')' | index? ('.' step)*) ;

value : name index? ('.' step)* ;

call : name '(' arguments? ')' ;

arguments : expr (',' expr)* ;

// ---- small things ----------------------------------------------------------------------------

path : nodeName ('.' name)* ;

nodeName : name ('[' place ']')? ;                // `vlan[1]`: the second of a stack

step : name index? ;

index : '[' sum ']' ('[' sum ']')? ;       // the second: of an array of registers

names : name (',' name)* ;

number : NUMBER | name ;                          // a name: of a constant

place : NUMBER ;

known : literal | name ;

literal : NUMBER | ADDRESS ;

// Where a name begins a line, the words that may continue the line before it are left out.

name
    : IDENT | 'action' | 'ages' | 'at' | 'back' | 'by' | 'chain' | 'const' | 'continue' | 'count' | 'each' | 'event' | 'from' | 'header' | 'icmp' | 'idle' | 'in' | 'let' | 'limit' | 'link' | 'lists' | 'max' | 'meters' | 'named'
    | 'over' | 'parser' | 'per' | 'ports' | 'queue' | 'registers' | 'state' | 'precedence' | 'priority' | 'reserved' | 'to' | 'via' | 'within'
    | 'accept' | 'extent' | 'payload' | 'require' | 'size' | 'write' | 'before' | 'behind'
    ;

memberName
    : IDENT | 'action' | 'ages' | 'at' | 'back' | 'by' | 'chain' | 'const' | 'continue' | 'count' | 'each' | 'event' | 'from' | 'header' | 'icmp' | 'idle' | 'let' | 'limit' | 'link' | 'lists' | 'max' | 'meters' | 'named'
    | 'over' | 'parser' | 'per' | 'ports' | 'queue' | 'registers' | 'state' | 'precedence' | 'priority' | 'reserved' | 'to' | 'via' | 'within' | 'write' | 'before' | 'behind'
    ;

edgeName
    : IDENT | 'action' | 'ages' | 'at' | 'back' | 'by' | 'const' | 'continue' | 'count' | 'each' | 'event' | 'from' | 'header' | 'icmp' | 'idle' | 'in' | 'let' | 'limit' | 'link' | 'lists' | 'max' | 'meters' | 'named'
    | 'over' | 'parser' | 'per' | 'ports' | 'queue' | 'registers' | 'state' | 'precedence' | 'priority' | 'reserved' | 'to' | 'via' | 'within'
    | 'accept' | 'extent' | 'payload' | 'require' | 'size' | 'before' | 'behind'
    ;

matchName
    : IDENT | 'action' | 'ages' | 'at' | 'back' | 'by' | 'chain' | 'const' | 'continue' | 'count' | 'each' | 'event' | 'from' | 'header' | 'icmp' | 'idle' | 'in' | 'let' | 'limit' | 'link' | 'max' | 'named'
    | 'over' | 'parser' | 'per' | 'ports' | 'queue' | 'registers' | 'reserved' | 'state' | 'to' | 'via' | 'within'
    | 'accept' | 'extent' | 'payload' | 'require' | 'size' | 'write' | 'before' | 'behind'
    ;

statementName
    : IDENT | 'action' | 'ages' | 'at' | 'back' | 'by' | 'chain' | 'const' | 'continue' | 'event' | 'header' | 'icmp' | 'idle' | 'limit' | 'link' | 'lists' | 'meters' | 'named'
    | 'parser' | 'per' | 'ports' | 'registers' | 'state' | 'precedence' | 'priority' | 'reserved' | 'to' | 'via' | 'within'
    | 'accept' | 'extent' | 'payload' | 'require' | 'size' | 'write'
    ;

poppedName
    : IDENT | 'action' | 'ages' | 'at' | 'back' | 'by' | 'chain' | 'const' | 'continue' | 'count' | 'each' | 'event' | 'from' | 'header' | 'icmp' | 'idle' | 'in' | 'let' | 'limit' | 'link' | 'lists' | 'max' | 'meters' | 'named'
    | 'over' | 'parser' | 'per' | 'ports' | 'queue' | 'registers' | 'state' | 'precedence' | 'priority' | 'reserved' | 'via' | 'within'
    | 'accept' | 'extent' | 'payload' | 'require' | 'size' | 'write' | 'before' | 'behind'
    ;

// ---- tokens ----------------------------------------------------------------------------------

IDENT : [A-Za-z_] WORD* ;

NUMBER : [0-9] WORD* ;                            // lexer.py refuses what is none: `12x`, `0xg`

ADDRESS
    : [0-9] WORD* ('.' WORD+)+                    // 10.0.0.1
    | HEX* ':' HEX* ':' (HEX | ':')*              // 2001:db8::1, 02:00:00:00:00:01
    ;

fragment WORD : [A-Za-z0-9_] ;

fragment HEX : [0-9a-fA-F] ;

COMMENT : '//' ~[\n]* -> channel(HIDDEN) ;        // `///`, but not `////`, is a doc comment

SPACE : [ \t\r\n]+ -> skip ;

// These two are reported by lexer.py and never seen by the parser.

BLOCK : '/*' .*? ('*/' | EOF) ;

STRAY : . ;
