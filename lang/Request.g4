// The grammar of requests: what a controller says (Schema 1 of the paper, extended).
//
//     create PDR [(src_ip, u32, 10.1.0.0/16), FAR [(action, u8, DROP)]]; delete FAR 17
//
// A list is flat: `LBR: FAR, (ToS, u8, 184)` says three things in a row, as the paper writes them;
// which of them belongs to which is decided where the rule kinds are known (lang/contract/rules/arrange.py).
// Only `[ ]` nests here.
//
// request_parser.py makes the same tokens faster and parses one change at a time, once a shape; a
// test compares both ways.
grammar Request;

options { caseInsensitive = true; }

request : ';'* (change ';'*)* EOF ;

oneChange : change EOF ;                         // what request_parser.py starts from

change : verb list_ ;

verb : CREATE | UPDATE | DELETE | REPLACE ;

list_ : entry (',' entry)* ;

// A labelled rule may be followed by its first item without a comma.
entry : (head ':')* item ;

item : head ':'? block | head element? | element | block ;

block : '[' list_? ']' ;

head : kind id? name? ;

kind : WORD ;

id : NUMBER ;

name : WORD | STRING ;

// Of several values the first is the length, if it is a word or a number; which words and numbers are
// lengths only the element knows. `(src_ip, 10.0.0.1)` has none.
element : '(' type ',' value (',' value (',' literal)*)? ')' ;

type : WORD+ | NUMBER ;

value : literal (('/' | '&' | '..') literal)? ;

literal : NUMBER | IP4 | IP6 | MAC | WORD | STRING ;

CREATE : 'create' ;

UPDATE : 'update' ;

DELETE : 'delete' ;

REPLACE : 'replace' ;

NUMBER : [0-9]+ | '0x' [0-9a-f]+ ;

IP4 : [0-9]+ '.' [0-9]+ '.' [0-9]+ '.' [0-9]+ ;

MAC : HEX HEX ':' HEX HEX ':' HEX HEX ':' HEX HEX ':' HEX HEX ':' HEX HEX ;

IP6 : HEX+ ':' HEX+ ':' HEX+ ':' HEX+ ':' HEX+ ':' HEX+ ':' HEX+ ':' HEX+
    | (HEX+ ':')* (HEX+ ':' | ':') ':' (HEX+ (':' HEX+)*)?
    ;

fragment HEX : [0-9a-f] ;

WORD : [a-z_] [a-z0-9_]* ([-.] [a-z0-9_]+)* ;

STRING : '"' ~["\r\n]* '"' ;

COMMENT : '//' ~[\n]* -> skip ;

SPACE : [ \t\r\n]+ -> skip ;

// What no rule takes: reported with its place.
BAD_LITERAL : [0-9] [a-z0-9_]* ('.' [a-z0-9_]+)* ;

STRAY : . ;
